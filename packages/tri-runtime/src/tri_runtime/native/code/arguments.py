"""The launcher's code, arguments: whether an object is what an item of a record wants; its value goes to its place among the parameters."""

from __future__ import annotations

__all__ = ["ARGUMENTS"]

ARGUMENTS = """
; ---- arguments ----------------------------------------------------------------------------------

define internal i1 @fits_array(ptr %item, ptr %object, ptr %place) nounwind {
  %tensor = alloca %tensor
  %type = field ptr, item 3, %item
  %exact = call i1 @is_exact(ptr %object, ptr %type)
  br i1 %exact, label %read, label %no
read:
  %reader = field ptr, item 8, %item
  %failed = call i32 %reader(ptr %object, ptr %tensor)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %compare, label %error
error:
  call void @PyErr_Clear()
  br label %no
compare:
  %device_at = getelementptr %tensor, ptr %tensor, i32 0, i32 1
  %device = load i64, ptr %device_at, align 4
  %wanted_device = field i64, item 4, %item
  %here = icmp eq i64 %device, %wanted_device
  %dtype = field i32, tensor 3, %tensor
  %dtype64 = zext i32 %dtype to i64
  %wanted_dtype = field i64, item 5, %item
  %like = icmp eq i64 %dtype64, %wanted_dtype
  %data = field i64, tensor 0, %tensor
  %shift = field i64, tensor 6, %tensor
  %address = add i64 %data, %shift
  %mask = field i64, item 6, %item
  %low = and i64 %address, %mask
  %aligned = icmp eq i64 %low, 0
  %aligned64 = zext i1 %aligned to i64
  %wanted = field i64, item 7, %item
  %as_aligned = icmp eq i64 %aligned64, %wanted
  store i64 %address, ptr %place
  %both = and i1 %here, %like
  %all = and i1 %both, %as_aligned
  br i1 %all, label %named, label %no
named:  ; dtypes that DLPack does not tell apart are compared as objects
  %dtypes = field ptr, item 9, %item
  %enough = icmp eq ptr %dtypes, null
  br i1 %enough, label %yes, label %look
look:
  %name = load ptr, ptr %dtypes
  %found = call ptr @PyObject_GetAttr(ptr %object, ptr %name)
  %missing = icmp eq ptr %found, null
  br i1 %missing, label %error, label %known
known:
  call void @Py_DecRef(ptr %found)
  %object_at = getelementptr ptr, ptr %dtypes, i32 1
  %expected = load ptr, ptr %object_at
  %same = icmp eq ptr %found, %expected
  ret i1 %same
yes:
  ret i1 true
no:
  ret i1 false
}

; an int: bits of what it is specialized on (1, within 32 bits, divisible), those that matter, range, size
define internal i1 @fits_int(ptr %item, ptr %object, ptr %place) nounwind {
  %out = alloca i64
  %is_int = call i1 @whole(ptr %object, ptr %out)
  br i1 %is_int, label %compare, label %no
compare:
  %value = load i64, ptr %out
  %one = icmp eq i64 %value, 1
  %narrow = trunc i64 %value to i32
  %wide = sext i32 %narrow to i64
  %small = icmp eq i64 %wide, %value
  %rest = and i64 %value, 15
  %divisible = icmp eq i64 %rest, 0
  %bit0 = zext i1 %one to i64
  %small64 = zext i1 %small to i64
  %bit1 = shl i64 %small64, 1
  %divisible64 = zext i1 %divisible to i64
  %bit2 = shl i64 %divisible64, 2
  %bits01 = or i64 %bit0, %bit1
  %bits = or i64 %bits01, %bit2
  %wanted = field i64, item 4, %item
  %care = field i64, item 5, %item
  %different = xor i64 %bits, %wanted
  %matters = and i64 %different, %care
  %as_specialized = icmp eq i64 %matters, 0
  %low = field i64, item 6, %item
  %high = field i64, item 7, %item
  %above = icmp sge i64 %value, %low
  %below = icmp sle i64 %value, %high
  %within = and i1 %above, %below
  %all = and i1 %as_specialized, %within
  br i1 %all, label %store, label %no
store:
  %size = field i64, item 2, %item
  switch i64 %size, label %yes [ i64 1, label %store1  i64 2, label %store2  i64 4, label %store4  i64 8, label %store8 ]
store1:
  %value1 = trunc i64 %value to i8
  store i8 %value1, ptr %place
  ret i1 true
store2:
  %value2 = trunc i64 %value to i16
  store i16 %value2, ptr %place
  ret i1 true
store4:
  store i32 %narrow, ptr %place
  ret i1 true
store8:
  store i64 %value, ptr %place
  ret i1 true
yes:
  ret i1 true
no:
  ret i1 false
}

define internal i1 @fits_float(ptr %item, ptr %object, ptr %place) nounwind {
  %exact = call i1 @is_exact(ptr %object, ptr @PyFloat_Type)
  br i1 %exact, label %read, label %no
read:
  %value = call double @PyFloat_AsDouble(ptr %object)
  %size = field i64, item 2, %item
  %is_double = icmp eq i64 %size, 8
  br i1 %is_double, label %store8, label %narrow
store8:
  store double %value, ptr %place
  ret i1 true
narrow:
  %single = fptrunc double %value to float
  store float %single, ptr %place
  ret i1 true
no:
  ret i1 false
}

define internal i1 @fits_bool(ptr %item, ptr %object, ptr %place) nounwind {
  %true = field ptr, item 3, %item
  %false = field ptr, item 8, %item
  %is_true = icmp eq ptr %object, %true
  %is_false = icmp eq ptr %object, %false
  %value = zext i1 %is_true to i8
  store i8 %value, ptr %place
  %either = or i1 %is_true, %is_false
  ret i1 %either
}

define internal i1 @fits_int_constant(ptr %item, ptr %object) nounwind {
  %out = alloca i64
  %is_int = call i1 @whole(ptr %object, ptr %out)
  %value = load i64, ptr %out
  %wanted = field i64, item 4, %item
  %same = icmp eq i64 %value, %wanted
  %fits = select i1 %is_int, i1 %same, i1 false
  ret i1 %fits
}

define internal i1 @fits_float_constant(ptr %item, ptr %object) nounwind {
  %exact = call i1 @is_exact(ptr %object, ptr @PyFloat_Type)
  br i1 %exact, label %read, label %no
read:
  %value = call double @PyFloat_AsDouble(ptr %object)
  %bits = bitcast double %value to i64
  %wanted = field i64, item 4, %item
  %same = icmp eq i64 %bits, %wanted
  ret i1 %same
no:
  ret i1 false
}

define internal i1 @fits_text(ptr %object, ptr %wanted) nounwind {
  %exact = call i1 @is_exact(ptr %object, ptr @PyUnicode_Type)
  br i1 %exact, label %compare, label %no
compare:
  %order = call i32 @PyUnicode_Compare(ptr %object, ptr %wanted)
  %same = icmp eq i32 %order, 0
  ret i1 %same
no:
  ret i1 false
}

define internal i1 @fits_item(ptr %item, ptr %object, ptr %block) nounwind {
  %kind = field i64, item 0, %item
  %offset = field i64, item 1, %item
  %place = getelementptr i8, ptr %block, i64 %offset
  %wanted = field ptr, item 3, %item
  switch i64 %kind, label %same_object [
    i64 0, label %array
    i64 1, label %int
    i64 2, label %float
    i64 3, label %bool
    i64 5, label %int_constant
    i64 6, label %float_constant
    i64 7, label %text
  ]
array:
  %fits0 = call i1 @fits_array(ptr %item, ptr %object, ptr %place)
  ret i1 %fits0
int:
  %fits1 = call i1 @fits_int(ptr %item, ptr %object, ptr %place)
  ret i1 %fits1
float:
  %fits2 = call i1 @fits_float(ptr %item, ptr %object, ptr %place)
  ret i1 %fits2
bool:
  %fits3 = call i1 @fits_bool(ptr %item, ptr %object, ptr %place)
  ret i1 %fits3
same_object:
  %fits4 = icmp eq ptr %object, %wanted
  ret i1 %fits4
int_constant:
  %fits5 = call i1 @fits_int_constant(ptr %item, ptr %object)
  ret i1 %fits5
float_constant:
  %fits6 = call i1 @fits_float_constant(ptr %item, ptr %object)
  ret i1 %fits6
text:
  %fits7 = call i1 @fits_text(ptr %object, ptr %wanted)
  ret i1 %fits7
}
"""
