"""Common part of the launcher's code: functions and classes of Python, and checks of a type."""

from __future__ import annotations

__all__ = ["TYPES"]

TYPES = """
@PyLong_Type = external global i8
@PyFloat_Type = external global i8
@PyUnicode_Type = external global i8
@PyTuple_Type = external global i8
@PyExc_Exception = external global ptr
@PyFunction_Type = external global i8

declare ptr @PyByteArray_AsString(ptr)
declare ptr @PyObject_Type(ptr)
declare i32 @PyObject_IsTrue(ptr)
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
