"""The launcher's code, a call against a record: how the arguments are given, what they are, and what holds around them."""

from __future__ import annotations

__all__ = ["MATCHING"]

MATCHING = """
; ---- what has to be as it was -------------------------------------------------------------------

define internal i1 @holds(ptr %condition) nounwind {
  %out = alloca ptr
  %kind = field condition.kind, %condition
  %a = field condition.subject, %condition
  %b = field condition.key, %condition
  %c = field condition.value, %condition
  switch i64 %kind, label %entry_of_dictionary [
    i64 $ConditionKind.EMPTY_LIST, label %empty_list
    i64 $ConditionKind.CONTEXT_VARIABLE, label %context_variable
    i64 $ConditionKind.CELL, label %cell
  ]
empty_list:
  %length = call i64 @PyList_Size(ptr %a)
  %empty = icmp eq i64 %length, 0
  ret i1 %empty
context_variable:
  store ptr null, ptr %out
  %failed = call i32 @PyContextVar_Get(ptr %a, ptr null, ptr %out)
  %value = load ptr, ptr %out
  %nothing = icmp eq ptr %value, null
  br i1 %nothing, label %error, label %set
set:
  call void @Py_DecRef(ptr %value)
  %as_before = icmp eq ptr %value, %c
  ret i1 %as_before
cell:
  %held = call ptr @PyCell_Get(ptr %a)
  %unset = icmp eq ptr %held, null
  br i1 %unset, label %error, label %filled
filled:
  call void @Py_DecRef(ptr %held)
  %kept = icmp eq ptr %held, %c
  ret i1 %kept
entry_of_dictionary:
  %found = call ptr @PyDict_GetItemWithError(ptr %a, ptr %b)
  %missing = icmp eq ptr %found, null
  br i1 %missing, label %error, label %there
there:
  %unchanged = icmp eq ptr %found, %c
  ret i1 %unchanged
error:
  call void @PyErr_Clear()
  ret i1 false
}

; ---- context and stream -------------------------------------------------------------------------

define internal i1 @in_context(ptr %call) nounwind {
  %out = alloca ptr
  %ask = field call.current_context, %call
  %any = icmp eq ptr %ask, null
  br i1 %any, label %yes, label %look
look:
  %failed = call i32 %ask(ptr %out)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %compare, label %no
compare:
  %now = load ptr, ptr %out
  %wanted = field call.context, %call
  %same = icmp eq ptr %now, %wanted
  ret i1 %same
yes:
  ret i1 true
no:
  ret i1 false
}

; the stream %given, or (0) the current one, if the probes report what they did when the record was made
define internal i1 @stream_of(ptr %call, i64 %given, ptr %stream) nounwind {
entry:
  %out = alloca i64
  %is_named = icmp ne i64 %given, 0
  br i1 %is_named, label %named, label %current
named:
  store i64 %given, ptr %stream
  br label %start
current:
  %ask = field call.current_stream, %call
  %device = field call.device, %call
  %kind = trunc i64 %device to i32
  %high = lshr i64 %device, 32
  %index = trunc i64 %high to i32
  %failed = call i32 %ask(i32 %kind, i32 %index, ptr %stream)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %start, label %error
error:
  call void @PyErr_Clear()
  br label %no
start:
  %handle = load ptr, ptr %stream
  %count = field call.probe_count, %call
  %probes = field call.probes, %call
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %on ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %probe, label %yes
probe:
  %probe_i = getelementptr %probe, ptr %probes, i64 %i
  %function = field probe.function, %probe_i
  %wanted = field probe.expected, %probe_i
  store i64 0, ptr %out
  %status = call i32 %function(ptr %handle, ptr %out)
  %reported = load i64, ptr %out
  %good = icmp eq i32 %status, 0
  %same = icmp eq i64 %reported, %wanted
  %as_before = and i1 %good, %same
  br i1 %as_before, label %on, label %no
on:
  %next = add i64 %i, 1
  br label %loop
yes:
  ret i1 true
no:
  ret i1 false
}

; ---- a call against a record --------------------------------------------------------------------

define internal i1 @fits_names(ptr %call, ptr %names) nounwind {
entry:
  %count = field call.keywords, %call
  %none = icmp eq ptr %names, null
  br i1 %none, label %without, label %with
without:
  %no_names = icmp eq i64 %count, 0
  ret i1 %no_names
with:
  %given = call i64 @PyTuple_Size(ptr %names)
  %as_many = icmp eq i64 %given, %count
  br i1 %as_many, label %start, label %no
start:
  %wanted = field call.keyword_names, %call
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %on ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %compare, label %yes
compare:
  %name = call ptr @PyTuple_GetItem(ptr %names, i64 %i)
  %wanted_i = getelementptr ptr, ptr %wanted, i64 %i
  %wanted_name = load ptr, ptr %wanted_i
  %same = icmp eq ptr %name, %wanted_name
  br i1 %same, label %on, label %no
on:
  %next = add i64 %i, 1
  br label %loop
yes:
  ret i1 true
no:
  ret i1 false
}

; whether arrays are apart that have to be: none of a pair begins within the other
define internal i1 @are_apart(ptr %call, ptr %block) nounwind {
entry:
  %count = field call.pair_count, %call
  %pairs = field call.pairs, %call
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %on ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %look, label %yes
look:
  %pair = getelementptr %pair, ptr %pairs, i64 %i
  %first_offset = field pair.first, %pair
  %second_offset = field pair.second, %pair
  %first_at = getelementptr i8, ptr %block, i64 %first_offset
  %second_at = getelementptr i8, ptr %block, i64 %second_offset
  %first = load i64, ptr %first_at
  %second = load i64, ptr %second_at
  %first_extent_offset = field pair.first_extent, %pair
  %second_extent_offset = field pair.second_extent, %pair
  %first_extent_at = getelementptr i8, ptr %block, i64 %first_extent_offset
  %second_extent_at = getelementptr i8, ptr %block, i64 %second_extent_offset
  %first_extent = load i64, ptr %first_extent_at
  %second_extent = load i64, ptr %second_extent_at
  %together = icmp eq i64 %first, %second
  br i1 %together, label %same, label %differ
same:
  %may_be_same = field pair.same, %pair
  %allowed = icmp ne i64 %may_be_same, 0
  br i1 %allowed, label %on, label %no
differ:
  %first_end = add i64 %first, %first_extent
  %second_end = add i64 %second, %second_extent
  %before = icmp ule i64 %first_end, %second
  %behind = icmp ule i64 %second_end, %first
  %apart = or i1 %before, %behind
  br i1 %apart, label %on, label %no
on:
  %next = add i64 %i, 1
  br label %loop
yes:
  ret i1 true
no:
  ret i1 false
}

define internal i1 @fits(ptr %call, ptr %args, i64 %nargs, ptr %names, ptr %block, i64 %given, ptr %stream) nounwind {
entry:
  %positional = field call.positional, %call
  %positional_fits = icmp eq i64 %positional, %nargs
  br i1 %positional_fits, label %keywords, label %no
keywords:
  %names_fit = call i1 @fits_names(ptr %call, ptr %names)
  br i1 %names_fit, label %start, label %no
start:
  %bytes = field call.parameter_bytes, %call
  %values = field call.parameter_values, %call
  call void @llvm.memcpy.p0.p0.i64(ptr %block, ptr %values, i64 %bytes, i1 false)
  %items = field call.items, %call
  %order = field call.order, %call
  %keyword_count = field call.keywords, %call
  %count = add i64 %positional, %keyword_count
  br label %arguments
arguments:
  %i = phi i64 [ 0, %start ], [ %next, %on ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %argument, label %memory
argument:
  %index_at = getelementptr i64, ptr %order, i64 %i
  %index = load i64, ptr %index_at
  %object_at = getelementptr ptr, ptr %args, i64 %index
  %object = load ptr, ptr %object_at
  %item = getelementptr %item, ptr %items, i64 %i
  %item_fits = call i1 @fits_item(ptr %item, ptr %object, ptr %block)
  br i1 %item_fits, label %on, label %no
on:
  %next = add i64 %i, 1
  br label %arguments
memory:
  %apart = call i1 @are_apart(ptr %call, ptr %block)
  br i1 %apart, label %conditions, label %no
conditions:
  %number = field call.condition_count, %call
  %first = field call.conditions, %call
  br label %check
check:
  %j = phi i64 [ 0, %conditions ], [ %next_j, %held ]
  %more_j = icmp slt i64 %j, %number
  br i1 %more_j, label %condition, label %context
condition:
  %condition_j = getelementptr %condition, ptr %first, i64 %j
  %condition_holds = call i1 @holds(ptr %condition_j)
  br i1 %condition_holds, label %held, label %no
held:
  %next_j = add i64 %j, 1
  br label %check
context:
  %context_fits = call i1 @in_context(ptr %call)
  br i1 %context_fits, label %driver, label %no
driver:
  %stream_fits = call i1 @stream_of(ptr %call, i64 %given, ptr %stream)
  ret i1 %stream_fits
no:
  ret i1 false
}
"""
