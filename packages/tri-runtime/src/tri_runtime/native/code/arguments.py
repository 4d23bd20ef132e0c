"""The launcher's code, arguments: whether an object is what an item of a record wants; its value goes to its place among the parameters."""

from __future__ import annotations

__all__ = ["ARGUMENTS"]

ARGUMENTS = """
; ---- arguments ----------------------------------------------------------------------------------

; Whether a tensor of floats may be the imaginary part of conjugate numbers, whose memory holds the negated values: DLPack does not say.
; Such a part begins at an odd element, complex numbers being aligned, and neighbours are at least two elements apart.
define internal i1 @may_be_negated(ptr %tensor, i64 %address) nounwind {
  %dtype = field tensor.dtype, %tensor
  %code = and i32 %dtype, 255
  %is_float = icmp eq i32 %code, 2
  %upper = lshr i32 %dtype, 11
  %width = and i32 %upper, 31
  %bytes = zext i32 %width to i64
  %bit = and i64 %address, %bytes
  %is_odd = icmp ne i64 %bit, 0
  %may = and i1 %is_float, %is_odd
  %strides = field tensor.strides, %tensor
  %contiguous = icmp eq ptr %strides, null
  %sound = xor i1 %may, true
  %known = or i1 %sound, %contiguous
  br i1 %known, label %no, label %start
start:
  %rank32 = field tensor.ndim, %tensor
  %rank = sext i32 %rank32 to i64
  %shape = field tensor.shape, %tensor
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %on ]
  %more = icmp slt i64 %i, %rank
  br i1 %more, label %look, label %yes
look:
  %size_at = getelementptr i64, ptr %shape, i64 %i
  %size = load i64, ptr %size_at
  %stride_at = getelementptr i64, ptr %strides, i64 %i
  %stride = load i64, ptr %stride_at
  %is_long = icmp sgt i64 %size, 1
  %is_dense = icmp eq i64 %stride, 1
  %has_neighbours = and i1 %is_long, %is_dense
  br i1 %has_neighbours, label %no, label %on
on:
  %next = add i64 %i, 1
  br label %loop
yes:
  ret i1 true
no:
  ret i1 false
}

; bytes from the first element of a tensor to the end of its last one; -1 where strides go backwards
define internal i64 @extent_of_tensor(ptr %tensor) nounwind {
entry:
  %rank32 = field tensor.ndim, %tensor
  %rank = sext i32 %rank32 to i64
  %shape = field tensor.shape, %tensor
  %strides = field tensor.strides, %tensor
  %contiguous = icmp eq ptr %strides, null
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %on ]
  %last = phi i64 [ 0, %entry ], [ %reached, %on ]
  %count = phi i64 [ 1, %entry ], [ %counted, %on ]
  %more = icmp slt i64 %i, %rank
  br i1 %more, label %look, label %sum
look:
  %size_at = getelementptr i64, ptr %shape, i64 %i
  %size = load i64, ptr %size_at
  %counted = mul i64 %count, %size
  br i1 %contiguous, label %on, label %step
step:
  %stride_at = getelementptr i64, ptr %strides, i64 %i
  %stride = load i64, ptr %stride_at
  %backwards = icmp slt i64 %stride, 0
  br i1 %backwards, label %unknown, label %far
far:
  %before = sub i64 %size, 1
  %distance = mul i64 %before, %stride
  %farther = add i64 %last, %distance
  br label %on
on:
  %reached = phi i64 [ %last, %look ], [ %farther, %far ]
  %next = add i64 %i, 1
  br label %loop
sum:
  %strided = add i64 %last, 1
  %elements = select i1 %contiguous, i64 %count, i64 %strided
  %none = icmp eq i64 %count, 0
  %held = select i1 %none, i64 0, i64 %elements
  %dtype = field tensor.dtype, %tensor
  %shifted = lshr i32 %dtype, 8
  %bits32 = and i32 %shifted, 255
  %lanes32 = lshr i32 %dtype, 16
  %wide = mul i32 %bits32, %lanes32
  %rounded = add i32 %wide, 7
  %bytes32 = lshr i32 %rounded, 3
  %bytes = zext i32 %bytes32 to i64
  %extent = mul i64 %held, %bytes
  ret i64 %extent
unknown:
  ret i64 -1
}

; the bytes of a tensor go to their place behind the parameters, where somebody asks for them
define internal i1 @keep_extent(ptr %item, ptr %tensor, ptr %block) nounwind {
  %offset = field array_item.extent, %item
  %unasked = icmp eq i64 %offset, 0
  br i1 %unasked, label %yes, label %measure
measure:
  %extent = call i64 @extent_of_tensor(ptr %tensor)
  %place = getelementptr i8, ptr %block, i64 %offset
  store i64 %extent, ptr %place
  %known = icmp sge i64 %extent, 0
  ret i1 %known
yes:
  ret i1 true
}

define internal i1 @fits_array(ptr %item, ptr %object, ptr %place, ptr %block) nounwind {
  %tensor = alloca %tensor
  %type = field array_item.type, %item
  %exact = call i1 @is_exact(ptr %object, ptr %type)
  br i1 %exact, label %read, label %no
read:
  %reader = field array_item.read, %item
  %failed = call i32 %reader(ptr %object, ptr %tensor)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %compare, label %error
error:
  call void @PyErr_Clear()
  br label %no
compare:
  %device = field tensor.device, %tensor
  %wanted_device = field array_item.device, %item
  %here = icmp eq i64 %device, %wanted_device
  %dtype = field tensor.dtype, %tensor
  %dtype64 = zext i32 %dtype to i64
  %wanted_dtype = field array_item.dtype, %item
  %like = icmp eq i64 %dtype64, %wanted_dtype
  %data = field tensor.data, %tensor
  %shift = field tensor.byte_offset, %tensor
  %address = add i64 %data, %shift
  %mask = field array_item.mask, %item
  %low = and i64 %address, %mask
  %aligned = icmp eq i64 %low, 0
  %aligned64 = zext i1 %aligned to i64
  %wanted = field array_item.aligned, %item
  %as_aligned = icmp eq i64 %aligned64, %wanted
  store i64 %address, ptr %place
  %both = and i1 %here, %like
  %all = and i1 %both, %as_aligned
  br i1 %all, label %held, label %no
held:  ; a storage that was freed begins at 0, and no array of a driver's is below 4 GiB
  %in_memory = icmp ugt i64 %address, 4294967295
  br i1 %in_memory, label %signs, label %no
signs:
  %negated = call i1 @may_be_negated(ptr %tensor, i64 %address)
  br i1 %negated, label %no, label %reach
reach:
  %reaches = call i1 @keep_extent(ptr %item, ptr %tensor, ptr %block)
  br i1 %reaches, label %named, label %no
named:  ; dtypes that DLPack does not tell apart are compared as objects
  %dtypes = field array_item.attribute, %item
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
  %wanted = field int_item.properties, %item
  %care = field int_item.care, %item
  %different = xor i64 %bits, %wanted
  %matters = and i64 %different, %care
  %as_specialized = icmp eq i64 %matters, 0
  %low = field int_item.low, %item
  %high = field int_item.high, %item
  %above = icmp sge i64 %value, %low
  %below = icmp sle i64 %value, %high
  %within = and i1 %above, %below
  %all = and i1 %as_specialized, %within
  br i1 %all, label %store, label %no
store:
  %size = field item.size, %item
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
  %size = field item.size, %item
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
  %true = field bool_item.true, %item
  %false = field bool_item.false, %item
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
  %wanted = field constant_item.bits, %item
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
  %wanted = field constant_item.bits, %item
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

; a sequence of just this class and length, whose items are as they have to be
define internal i1 @fits_sequence(ptr %part, ptr %object, ptr %block) nounwind {
entry:
  %class = field part.sequence, %part
  %exact = call i1 @is_exact(ptr %object, ptr %class)
  br i1 %exact, label %measure, label %no
measure:
  %count = field part.count, %part
  %items = field part.items, %part
  %length = call i64 @PySequence_Size(ptr %object)
  %as_long = icmp eq i64 %length, %count
  br i1 %as_long, label %loop, label %no
loop:
  %i = phi i64 [ 0, %measure ], [ %next, %on ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %compare, label %yes
compare:
  %value = call ptr @PySequence_GetItem(ptr %object, i64 %i)
  %missing = icmp eq ptr %value, null
  br i1 %missing, label %error, label %there
there:
  %item = getelementptr %item, ptr %items, i64 %i
  %fits = call i1 @fits_item(ptr %item, ptr %value, ptr %block)
  call void @Py_DecRef(ptr %value)
  br i1 %fits, label %on, label %no
on:
  %next = add i64 %i, 1
  br label %loop
error:
  call void @PyErr_Clear()
  ret i1 false
yes:
  ret i1 true
no:
  ret i1 false
}

define internal i1 @fits_part(ptr %part, ptr %object, ptr %block) nounwind {
  %name = field part.name, %part
  %value = call ptr @PyObject_GetAttr(ptr %object, ptr %name)
  %missing = icmp eq ptr %value, null
  br i1 %missing, label %error, label %there
there:
  %class = field part.sequence, %part
  %is_single = icmp eq ptr %class, null
  br i1 %is_single, label %single, label %sequence
single:
  %item = field part.items, %part
  %one_fits = call i1 @fits_item(ptr %item, ptr %value, ptr %block)
  call void @Py_DecRef(ptr %value)
  ret i1 %one_fits
sequence:
  %all_fit = call i1 @fits_sequence(ptr %part, ptr %value, ptr %block)
  call void @Py_DecRef(ptr %value)
  ret i1 %all_fit
error:
  call void @PyErr_Clear()
  ret i1 false
}

; an object of just this class, by its attributes
define internal i1 @fits_parts(ptr %item, ptr %object, ptr %block) nounwind {
entry:
  %class = field parts_item.type, %item
  %exact = call i1 @is_exact(ptr %object, ptr %class)
  br i1 %exact, label %start, label %no
start:
  %count = field parts_item.count, %item
  %parts = field parts_item.parts, %item
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %on ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %compare, label %yes
compare:
  %part = getelementptr %part, ptr %parts, i64 %i
  %fits = call i1 @fits_part(ptr %part, ptr %object, ptr %block)
  br i1 %fits, label %on, label %no
on:
  %next = add i64 %i, 1
  br label %loop
yes:
  ret i1 true
no:
  ret i1 false
}

define internal i1 @fits_item(ptr %item, ptr %object, ptr %block) nounwind {
  %kind = field item.kind, %item
  %offset = field item.offset, %item
  %place = getelementptr i8, ptr %block, i64 %offset
  %wanted = field object_item.object, %item
  switch i64 %kind, label %same_object [
    i64 $ItemKind.ARRAY, label %array
    i64 $ItemKind.INT, label %int
    i64 $ItemKind.FLOAT, label %float
    i64 $ItemKind.BOOL, label %bool
    i64 $ItemKind.INT_CONSTANT, label %int_constant
    i64 $ItemKind.FLOAT_CONSTANT, label %float_constant
    i64 $ItemKind.TEXT, label %text
    i64 $ItemKind.PARTS, label %parts
    i64 $ItemKind.ANY, label %anything
  ]
array:
  %fits0 = call i1 @fits_array(ptr %item, ptr %object, ptr %place, ptr %block)
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
parts:
  %fits8 = call i1 @fits_parts(ptr %item, ptr %object, ptr %block)
  ret i1 %fits8
anything:
  ret i1 true
}
"""
