"""The launcher's code, from a call that fits to the driver: the grid, descriptors, the launch, and the function of last resort."""

from __future__ import annotations

__all__ = ["LAUNCHING"]

LAUNCHING = """
; ---- the grid -----------------------------------------------------------------------------------

; one extent, from 0 to %most
define internal i1 @extent(ptr %object, ptr %out, i64 %most) nounwind {
  %is_int = call i1 @whole(ptr %object, ptr %out)
  %value = load i64, ptr %out
  %within = icmp ule i64 %value, %most
  %fine = select i1 %is_int, i1 %within, i1 false
  ret i1 %fine
}

; a tuple of one to three ints as three numbers; the limits only keep the product within 64 bits
define internal i1 @grid_of(ptr %grid, ptr %sizes) nounwind {
  %y_at = getelementptr i64, ptr %sizes, i64 1
  %z_at = getelementptr i64, ptr %sizes, i64 2
  store i64 1, ptr %y_at
  store i64 1, ptr %z_at
  %is_tuple = call i1 @is_exact(ptr %grid, ptr @PyTuple_Type)
  br i1 %is_tuple, label %measure, label %no
measure:
  %length = call i64 @PyTuple_Size(ptr %grid)
  switch i64 %length, label %no [ i64 1, label %read_x  i64 2, label %read_y  i64 3, label %read_z ]
read_z:
  %z = call ptr @PyTuple_GetItem(ptr %grid, i64 2)
  %z_fits = call i1 @extent(ptr %z, ptr %z_at, i64 65535)
  br i1 %z_fits, label %read_y, label %no
read_y:
  %y = call ptr @PyTuple_GetItem(ptr %grid, i64 1)
  %y_fits = call i1 @extent(ptr %y, ptr %y_at, i64 65535)
  br i1 %y_fits, label %read_x, label %no
read_x:
  %x = call ptr @PyTuple_GetItem(ptr %grid, i64 0)
  %x_fits = call i1 @extent(ptr %x, ptr %sizes, i64 2147483647)
  ret i1 %x_fits
no:
  ret i1 false
}

; the result of a grid that is a function, called with the arguments by name: null, with an error set, where it fails
define internal ptr @call_grid(ptr %call, ptr %grid, ptr %args) nounwind {
entry:
  %defaults = field call.defaults, %call
  %named = call ptr @PyDict_Copy(ptr %defaults)
  %no_memory = icmp eq ptr %named, null
  br i1 %no_memory, label %failed, label %start
start:
  %positional = field call.positional, %call
  %keywords = field call.keywords, %call
  %count = add i64 %positional, %keywords
  %names = field call.names, %call
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %put ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %put, label %ask
put:
  %name_at = getelementptr ptr, ptr %names, i64 %i
  %name = load ptr, ptr %name_at
  %value_at = getelementptr ptr, ptr %args, i64 %i
  %value = load ptr, ptr %value_at
  %status = call i32 @PyDict_SetItem(ptr %named, ptr %name, ptr %value)
  %next = add i64 %i, 1
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %loop, label %drop
drop:
  call void @Py_DecRef(ptr %named)
  br label %failed
ask:
  %answer = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %grid, ptr %named, ptr null)
  call void @Py_DecRef(ptr %named)
  ret ptr %answer
failed:
  ret ptr null
}

; ---- what depends on the grid -------------------------------------------------------------------

; CTAs of the launch, in %sizes; the grid of a persistent kernel becomes parameters
define internal i1 @ctas(ptr %call, ptr %sizes, ptr %block) nounwind {
  %programs = load i64, ptr %sizes
  %cluster = field call.cluster, %call
  %x = mul i64 %programs, %cluster
  store i64 %x, ptr %sizes
  %in_range = icmp ule i64 %x, 2147483647
  br i1 %in_range, label %count, label %no
count:
  %y_at = getelementptr i64, ptr %sizes, i64 1
  %y = load i64, ptr %y_at
  %z_at = getelementptr i64, ptr %sizes, i64 2
  %z = load i64, ptr %z_at
  %xy = mul i64 %x, %y
  %total = mul i64 %xy, %z
  %most = field call.max_ctas, %call
  %any = icmp eq i64 %most, 0
  %few = icmp ule i64 %total, %most
  %allowed = or i1 %any, %few
  br i1 %allowed, label %next, label %no
next:
  %resident = field call.resident, %call
  %plain = icmp eq i64 %resident, 0
  br i1 %plain, label %yes, label %persistent
persistent:  ; programs are counted in i32, and the count goes on for each CTA
  %less = icmp ult i64 %total, %resident
  %started = select i1 %less, i64 %total, i64 %resident
  %last = add i64 %total, %started
  %countable = icmp ule i64 %last, 2147483647
  br i1 %countable, label %store, label %no
store:
  %offset = field call.grid_offset, %call
  %place = getelementptr i8, ptr %block, i64 %offset
  %x32 = trunc i64 %x to i32
  %y32 = trunc i64 %y to i32
  %z32 = trunc i64 %z to i32
  store i32 %x32, ptr %place
  %place_y = getelementptr i32, ptr %place, i64 1
  store i32 %y32, ptr %place_y
  %place_z = getelementptr i32, ptr %place, i64 2
  store i32 %z32, ptr %place_z
  store i64 %started, ptr %sizes
  store i64 1, ptr %y_at
  store i64 1, ptr %z_at
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; the descriptors of these arguments behind them; Python's lock is held, so that nobody else writes into the record
define internal i1 @descriptors(ptr %call, ptr %block) nounwind {
entry:
  %encode = field call.encode, %call
  %none = icmp eq ptr %encode, null
  br i1 %none, label %yes, label %look
look:
  %bytes = field call.argument_bytes, %call
  %last = field call.last_arguments, %call
  %size = field call.descriptor_bytes, %call
  %encoded = field call.descriptors, %call
  %order = call i32 @memcmp(ptr %block, ptr %last, i64 %bytes)
  %same = icmp eq i32 %order, 0
  br i1 %same, label %copy, label %ask
ask:
  %data = call ptr @PyBytes_FromStringAndSize(ptr %block, i64 %bytes)
  %no_memory = icmp eq ptr %data, null
  br i1 %no_memory, label %error, label %encode_them
encode_them:
  %answer = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %encode, ptr %data, ptr null)
  call void @Py_DecRef(ptr %data)
  %refused = icmp eq ptr %answer, null
  br i1 %refused, label %error, label %keep
keep:
  %text = call ptr @PyBytes_AsString(ptr %answer)
  call void @llvm.memcpy.p0.p0.i64(ptr %last, ptr %block, i64 %bytes, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %encoded, ptr %text, i64 %size, i1 false)
  call void @Py_DecRef(ptr %answer)
  br label %copy
copy:
  %offset = field call.descriptor_offset, %call
  %place = getelementptr i8, ptr %block, i64 %offset
  call void @llvm.memcpy.p0.p0.i64(ptr %place, ptr %encoded, i64 %size, i1 false)
  br label %yes
error:
  call void @PyErr_Clear()
  ret i1 false
yes:
  ret i1 true
}

define internal i1 @ready(ptr %call, ptr %sizes, ptr %block) nounwind {
  %counted = call i1 @ctas(ptr %call, ptr %sizes, ptr %block)
  br i1 %counted, label %describe, label %no
describe:
  %described = call i1 @descriptors(ptr %call, ptr %block)
  ret i1 %described
no:
  ret i1 false
}

; ---- the launch ---------------------------------------------------------------------------------

; a new reference to the result; null where the driver, or the function called before launches, refused
define internal ptr @start(ptr %call, ptr %sizes, ptr %block, ptr %stream) nounwind {
entry:
  %config = alloca %config
  %parameters = alloca [$Limit.PARAMETERS x ptr]
  %note = field call.note, %call
  %silent = icmp eq ptr %note, null
  br i1 %silent, label %prepare, label %tell
tell:
  %what = field call.note_argument, %call
  %answer = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %note, ptr %what, ptr null)
  %refused = icmp eq ptr %answer, null
  br i1 %refused, label %no, label %noted
noted:
  call void @Py_DecRef(ptr %answer)
  br label %prepare
prepare:
  %count = field call.parameter_count, %call
  %offsets = field call.parameter_offsets, %call
  br label %loop
loop:
  %i = phi i64 [ 0, %prepare ], [ %next, %place ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %place, label %configure
place:
  %offset_at = getelementptr i64, ptr %offsets, i64 %i
  %offset = load i64, ptr %offset_at
  %address = getelementptr i8, ptr %block, i64 %offset
  %parameter = getelementptr ptr, ptr %parameters, i64 %i
  store ptr %address, ptr %parameter
  %next = add i64 %i, 1
  br label %loop
configure:
  %x = load i64, ptr %sizes
  %x32 = trunc i64 %x to i32
  %grid_x = address config.grid_x, %config
  store i32 %x32, ptr %grid_x
  %y_at = getelementptr i64, ptr %sizes, i64 1
  %y = load i64, ptr %y_at
  %y32 = trunc i64 %y to i32
  %grid_y = address config.grid_y, %config
  store i32 %y32, ptr %grid_y
  %z_at = getelementptr i64, ptr %sizes, i64 2
  %z = load i64, ptr %z_at
  %z32 = trunc i64 %z to i32
  %grid_z = address config.grid_z, %config
  store i32 %z32, ptr %grid_z
  %threads = field call.threads, %call
  %threads32 = trunc i64 %threads to i32
  %block_x = address config.block_x, %config
  store i32 %threads32, ptr %block_x
  %block_y = address config.block_y, %config
  store i32 1, ptr %block_y
  %block_z = address config.block_z, %config
  store i32 1, ptr %block_z
  %shared = field call.shared, %call
  %shared32 = trunc i64 %shared to i32
  %memory = address config.shared, %config
  store i32 %shared32, ptr %memory
  %handle = load ptr, ptr %stream
  %on = address config.stream, %config
  store ptr %handle, ptr %on
  %attributes = field call.attributes, %call
  %config_attributes = address config.attributes, %config
  store ptr %attributes, ptr %config_attributes
  %number = field call.attribute_count, %call
  %number32 = trunc i64 %number to i32
  %config_number = address config.attribute_count, %config
  store i32 %number32, ptr %config_number
  %result = field call.result, %call
  %start = field call.start, %call
  %kernel = field call.function, %call
  call void @Py_IncRef(ptr %result)
  %thread = call ptr @PyEval_SaveThread()
  %status = call i32 %start(ptr %config, ptr %kernel, ptr %parameters, ptr null)
  call void @PyEval_RestoreThread(ptr %thread)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %yes, label %failed
failed:
  call void @Py_DecRef(ptr %result)
  br label %no
yes:
  ret ptr %result
no:
  ret ptr null
}

; the launch that %call describes over %sizes; null without an error where it has to be done in another way
define internal ptr @launch_over(ptr %call, ptr %sizes, ptr %block, ptr %stream) nounwind {
  %x = load i64, ptr %sizes
  %y_at = getelementptr i64, ptr %sizes, i64 1
  %y = load i64, ptr %y_at
  %z_at = getelementptr i64, ptr %sizes, i64 2
  %z = load i64, ptr %z_at
  %xy = mul i64 %x, %y
  %total = mul i64 %xy, %z
  %empty = icmp eq i64 %total, 0
  br i1 %empty, label %nothing, label %something
nothing:
  %result = field call.result, %call
  call void @Py_IncRef(ptr %result)
  ret ptr %result
something:
  %is_ready = call i1 @ready(ptr %call, ptr %sizes, ptr %block)
  br i1 %is_ready, label %go, label %no
go:
  %made = call ptr @start(ptr %call, ptr %sizes, ptr %block, ptr %stream)
  ret ptr %made
no:
  ret ptr null
}

; the launch that %call describes; null without an error where it has to be done in another way.  A grid that a function
; gave is in %answer then, a reference of the caller's
define internal ptr @launch(ptr %call, ptr %args, ptr %block, ptr %stream, ptr %answer) nounwind {
  %sizes = alloca [3 x i64]
  %grid = load ptr, ptr %args
  %is_tuple = call i1 @grid_of(ptr %grid, ptr %sizes)
  br i1 %is_tuple, label %known, label %other
other:
  %is_function = call i1 @is_exact(ptr %grid, ptr @PyFunction_Type)
  br i1 %is_function, label %ask, label %no
ask:
  %arguments = getelementptr ptr, ptr %args, i64 1
  %found = call ptr @call_grid(ptr %call, ptr %grid, ptr %arguments)
  store ptr %found, ptr %answer
  %failed = icmp eq ptr %found, null
  br i1 %failed, label %raised, label %read
raised: ; the function of last resort asks again, and says whose grid it is; what ends programs goes on
  %kind = load ptr, ptr @PyExc_Exception
  %matches = call i32 @PyErr_ExceptionMatches(ptr %kind)
  %ends = icmp eq i32 %matches, 0
  br i1 %ends, label %no, label %forget
forget:
  call void @PyErr_Clear()
  br label %no
read:
  %readable = call i1 @grid_of(ptr %found, ptr %sizes)
  br i1 %readable, label %known, label %no
known:
  %made = call ptr @launch_over(ptr %call, ptr %sizes, ptr %block, ptr %stream)
  ret ptr %made
no:
  ret ptr null
}

; the function of last resort, with %answer (if any) for the grid
define internal ptr @otherwise(ptr %state, ptr %args, i64 %nargs, ptr %names, ptr %answer) nounwind {
entry:
  %function = field state.otherwise, %state
  %as_given = icmp eq ptr %answer, null
  br i1 %as_given, label %plain, label %replace
plain:
  %done = call ptr @PyObject_Vectorcall(ptr %function, ptr %args, i64 %nargs, ptr %names)
  ret ptr %done
replace:
  %no_names = icmp eq ptr %names, null
  br i1 %no_names, label %copy, label %measure
measure:
  %keywords = call i64 @PyTuple_Size(ptr %names)
  br label %copy
copy:
  %more = phi i64 [ 0, %replace ], [ %keywords, %measure ]
  %count = add i64 %nargs, %more
  %bytes = mul i64 %count, 8
  %given = alloca ptr, i64 %count
  call void @llvm.memcpy.p0.p0.i64(ptr %given, ptr %args, i64 %bytes, i1 false)
  store ptr %answer, ptr %given
  %result = call ptr @PyObject_Vectorcall(ptr %function, ptr %given, i64 %nargs, ptr %names)
  call void @Py_DecRef(ptr %answer)
  ret ptr %result
}

; the record that the call fits, null where there is none; its block of parameters and its stream are filled in then.  %given: the
; stream that the caller names, 0 for the current one
define internal ptr @find(ptr %state, ptr %arguments, i64 %positional, ptr %names, ptr %block, i64 %given, ptr %stream) nounwind {
entry:
  %count = field state.count, %state
  %calls = field state.calls, %state
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %on ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %try, label %none
try:
  %call_at = getelementptr ptr, ptr %calls, i64 %i
  %call = load ptr, ptr %call_at
  %found = call i1 @fits(ptr %call, ptr %arguments, i64 %positional, ptr %names, ptr %block, i64 %given, ptr %stream)
  br i1 %found, label %go, label %on
on:
  %next = add i64 %i, 1
  br label %loop
go:  ; what is called often moves to the front, a place at a time
  %is_first = icmp eq i64 %i, 0
  br i1 %is_first, label %done, label %swap
swap:
  %before = sub i64 %i, 1
  %before_at = getelementptr ptr, ptr %calls, i64 %before
  %other_call = load ptr, ptr %before_at
  store ptr %call, ptr %before_at
  store ptr %other_call, ptr %call_at
  br label %done
done:
  ret ptr %call
none:
  ret ptr null
}

; ---- kernel[grid](*arguments, **keywords) -------------------------------------------------------

define ptr @tri_launch(ptr %self, ptr %args, i64 %nargs, ptr %names) nounwind {
entry:
  %block = alloca [$Limit.BLOCK_BYTES x i8], align 64
  %answer = alloca ptr
  %stream = alloca ptr
  store ptr null, ptr %answer
  %state = call ptr @PyByteArray_AsString(ptr %self)
  %has_grid = icmp sgt i64 %nargs, 0
  br i1 %has_grid, label %start, label %other
start:
  %arguments = getelementptr ptr, ptr %args, i64 1
  %positional = sub i64 %nargs, 1
  %call = call ptr @find(ptr %state, ptr %arguments, i64 %positional, ptr %names, ptr %block, i64 0, ptr %stream)
  %unknown = icmp eq ptr %call, null
  br i1 %unknown, label %other, label %run
run:  ; Python code that runs meanwhile may forget the record
  %owner = field call.owner, %call
  call void @Py_IncRef(ptr %owner)
  %result = call ptr @launch(ptr %call, ptr %args, ptr %block, ptr %stream, ptr %answer)
  call void @Py_DecRef(ptr %owner)
  %done = icmp ne ptr %result, null
  br i1 %done, label %yes, label %look
look:
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %drop, label %other
yes:
  br label %drop
drop:
  %given = phi ptr [ %result, %yes ], [ null, %look ]
  %held = load ptr, ptr %answer
  %nothing = icmp eq ptr %held, null
  br i1 %nothing, label %leave, label %release
release:
  call void @Py_DecRef(ptr %held)
  br label %leave
leave:
  ret ptr %given
other:
  %grid = load ptr, ptr %answer
  %last = call ptr @otherwise(ptr %state, ptr %args, i64 %nargs, ptr %names, ptr %grid)
  ret ptr %last
}

; ---- compiled.run(x, y, z, stream, function, packed metadata, launch metadata, enter hook, exit hook, *arguments) ----------------

; an extent of the grid
define internal i1 @extent_of(ptr %args, i64 %axis, ptr %sizes, i64 %most) nounwind {
  %object_at = getelementptr ptr, ptr %args, i64 %axis
  %object = load ptr, ptr %object_at
  %size_at = getelementptr i64, ptr %sizes, i64 %axis
  %fits = call i1 @extent(ptr %object, ptr %size_at, i64 %most)
  ret i1 %fits
}

; a stream that is an int, or None for 0
define internal i1 @named_stream(ptr %args, ptr %none, ptr %out) nounwind {
  %object_at = getelementptr ptr, ptr %args, i64 3
  %object = load ptr, ptr %object_at
  store i64 0, ptr %out
  %unnamed = icmp eq ptr %object, %none
  br i1 %unnamed, label %yes, label %read
read:
  %is_int = call i1 @whole(ptr %object, ptr %out)
  ret i1 %is_int
yes:
  ret i1 true
}

; whether a hook is None or false, as a chain of hooks is that has none: PyTorch passes the chains
define internal i1 @is_unset(ptr %args, i64 %position, ptr %none) nounwind {
  %hook_at = getelementptr ptr, ptr %args, i64 %position
  %hook = load ptr, ptr %hook_at
  %is_none = icmp eq ptr %hook, %none
  br i1 %is_none, label %yes, label %ask
ask:
  %truth = call i32 @PyObject_IsTrue(ptr %hook)
  %raised = icmp slt i32 %truth, 0
  br i1 %raised, label %forget, label %told
forget:
  call void @PyErr_Clear()
  ret i1 false
told:
  %is_false = icmp eq i32 %truth, 0
  ret i1 %is_false
yes:
  ret i1 true
}

; whether the launch has no hooks, which are Python's
define internal i1 @is_silent(ptr %args, ptr %none) nounwind {
  %no_enter = call i1 @is_unset(ptr %args, i64 7, ptr %none)
  br i1 %no_enter, label %look, label %no
look:
  %no_exit = call i1 @is_unset(ptr %args, i64 8, ptr %none)
  ret i1 %no_exit
no:
  ret i1 false
}

define ptr @tri_run(ptr %self, ptr %args, i64 %nargs, ptr %names) nounwind {
entry:
  %block = alloca [$Limit.BLOCK_BYTES x i8], align 64
  %sizes = alloca [3 x i64]
  %given_at = alloca i64
  %stream = alloca ptr
  %state = call ptr @PyByteArray_AsString(ptr %self)
  %none = field state.none, %state
  %positional = sub i64 %nargs, 9
  %whole_head = icmp sge i64 %positional, 0
  br i1 %whole_head, label %hooks, label %other
hooks:
  %silent = call i1 @is_silent(ptr %args, ptr %none)
  br i1 %silent, label %read_x, label %other
read_x:
  %x_fits = call i1 @extent_of(ptr %args, i64 0, ptr %sizes, i64 2147483647)
  br i1 %x_fits, label %read_y, label %other
read_y:
  %y_fits = call i1 @extent_of(ptr %args, i64 1, ptr %sizes, i64 65535)
  br i1 %y_fits, label %read_z, label %other
read_z:
  %z_fits = call i1 @extent_of(ptr %args, i64 2, ptr %sizes, i64 65535)
  br i1 %z_fits, label %read_stream, label %other
read_stream:
  %stream_fits = call i1 @named_stream(ptr %args, ptr %none, ptr %given_at)
  br i1 %stream_fits, label %look, label %other
look:
  %given = load i64, ptr %given_at
  %arguments = getelementptr ptr, ptr %args, i64 9
  %call = call ptr @find(ptr %state, ptr %arguments, i64 %positional, ptr %names, ptr %block, i64 %given, ptr %stream)
  %unknown = icmp eq ptr %call, null
  br i1 %unknown, label %other, label %run
run:
  %owner = field call.owner, %call
  call void @Py_IncRef(ptr %owner)
  %result = call ptr @launch_over(ptr %call, ptr %sizes, ptr %block, ptr %stream)
  call void @Py_DecRef(ptr %owner)
  %done = icmp ne ptr %result, null
  br i1 %done, label %leave, label %failed
failed:
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %leave, label %other
leave:
  ret ptr %result
other:
  %last = call ptr @otherwise(ptr %state, ptr %args, i64 %nargs, ptr %names, ptr null)
  ret ptr %last
}
"""
