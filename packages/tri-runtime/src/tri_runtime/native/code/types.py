"""What the launcher's code shares: the records of :mod:`tri_runtime.native.records`, DLPack's and the driver's structures, Python's functions."""

from __future__ import annotations

__all__ = ["TYPES"]

TYPES = """
%state = type {
  i64,  ; 0 number of calls
  ptr,  ; 1 calls
  ptr   ; 2 Python function that does what no call describes
}

%call = type {
  i64,  ;  0 positional arguments, without the grid
  i64,  ;  1 keywords
  ptr,  ;  2 their names, in order
  ptr,  ;  3 items, one for each argument, in an order of their own
  i64,  ;  4 number of conditions
  ptr,  ;  5 conditions
  ptr,  ;  6 Python object that keeps all of this alive
  ptr,  ;  7 result
  ptr,  ;  8 Python function that is told about the launch, or null
  ptr,  ;  9 what it is told
  ptr,  ; 10 names of all arguments
  ptr,  ; 11 dictionary of defaults
  ptr,  ; 12 the driver's function: int start(config, kernel, parameters, extra)
  ptr,  ; 13 the driver's kernel
  i64,  ; 14 threads
  i64,  ; 15 bytes of shared memory
  ptr,  ; 16 launch attributes
  i64,  ; 17 their number
  i64,  ; 18 bytes of parameters
  ptr,  ; 19 their values where no argument decides
  i64,  ; 20 number of parameters
  ptr,  ; 21 their offsets
  ptr,  ; 22 int stream_of(device type, device, out): the current stream
  i64,  ; 23 device
  i64,  ; 24 the most CTAs; 0: any number
  i64,  ; 25 CTAs that are resident, of a persistent kernel; 0: it is none
  i64,  ; 26 offset of the grid among its parameters
  i64,  ; 27 number of probes
  ptr,  ; 28 probes
  ptr,  ; 29 int context(out), or null
  ptr,  ; 30 the context that has to be current
  ptr,  ; 31 Python function that encodes descriptors, or null
  i64,  ; 32 bytes of the arguments that it gets
  ptr,  ; 33 those that it got last
  i64,  ; 34 bytes of descriptors
  ptr,  ; 35 what it gave then
  i64,  ; 36 offset of descriptors
  i64,  ; 37 CTAs along x that run a program together
  ptr   ; 38 which argument each item is about
}

%item = type { i64, i64, i64, ptr, i64, i64, i64, i64, ptr, ptr }
; a part of an object: name of the attribute, class of the sequence that it is (null: it is none), number of items, items
%part = type { ptr, ptr, i64, ptr }
%condition = type { i64, ptr, ptr, ptr }
%probe = type { ptr, i64 }
%tensor = type { ptr, i64, i32, i32, ptr, ptr, i64 }
%config = type { i32, i32, i32, i32, i32, i32, i32, ptr, ptr, i32 }

@PyLong_Type = external global i8
@PyFloat_Type = external global i8
@PyUnicode_Type = external global i8
@PyTuple_Type = external global i8
@PyExc_Exception = external global ptr
@PyFunction_Type = external global i8

declare ptr @PyByteArray_AsString(ptr)
declare ptr @PyObject_Type(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare double @PyFloat_AsDouble(ptr)
declare i32 @PyUnicode_Compare(ptr, ptr)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare i64 @PyList_Size(ptr)
declare i64 @PySequence_Size(ptr)
declare ptr @PySequence_GetItem(ptr, i64)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare ptr @PyDict_Copy(ptr)
declare i32 @PyDict_SetItem(ptr, ptr, ptr)
declare i32 @PyContextVar_Get(ptr, ptr, ptr)
declare ptr @PyCell_Get(ptr)
declare i32 @PyErr_ExceptionMatches(ptr)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyBytes_FromStringAndSize(ptr, i64)
declare ptr @PyBytes_AsString(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @memcmp(ptr, ptr, i64)

; whether an object is of just this type
define internal i1 @is_exact(ptr %object, ptr %type) nounwind {
  %own = call ptr @PyObject_Type(ptr %object)
  call void @Py_DecRef(ptr %own)
  %same = icmp eq ptr %own, %type
  ret i1 %same
}

; whether an object is an int of 64 bits with sign, which goes to %out
define internal i1 @whole(ptr %object, ptr %out) nounwind {
  %over = alloca i32
  %exact = call i1 @is_exact(ptr %object, ptr @PyLong_Type)
  br i1 %exact, label %read, label %no
read:
  %value = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %over)
  store i64 %value, ptr %out
  %how = load i32, ptr %over
  %fine = icmp eq i32 %how, 0
  ret i1 %fine
no:
  ret i1 false
}
"""
