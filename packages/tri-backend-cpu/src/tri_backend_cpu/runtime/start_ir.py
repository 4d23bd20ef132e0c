"""A launch by compiled code, as LLVM IR: part of :mod:`tri_backend_cpu.runtime.pool_ir`.

``tri_pool_start(config, native, parameters, extra)`` has the form that :class:`tri_core.runtime.LaunchPlan` wants and is called without
Python's lock: it fills the task itself.  Most kernels of a compiled model take some microseconds, less than it takes to wake a thread.  So it
measures what programs take, and asks for as many helpers as have 2**:data:`_SHARE` ns of work each.  Where the pool is in use or not ready it
gives 1, and Python launches.
"""

from __future__ import annotations

import re
import time

from tri_backend_cpu.launch_abi import TASK
from tri_runtime.schema import CType, Field, Record

__all__ = ["NATIVE", "START", "TASK_BYTES", "WATCHED"]

_I32, _ADDRESS = CType.I32, CType.POINTER
#: what :class:`tri_backend_cpu.runtime.watch.Watch` counts
WATCHED = Record(
    "watched",
    (
        Field("flag", _I32, "set where Python wants to handle signals"),
        Field("awake", _I32, "whether a thread looks out for launches that last"),
        Field("begun", CType.I64, "launches of the main thread so far"),
        Field("depth", CType.I64, "launches that it is in"),
        Field("main", CType.U64, "the main thread, as Python numbers it"),
    ),
)
#: a kernel, as compiled code launches it
NATIVE = Record(
    "native",
    (
        Field("pool", _ADDRESS),
        Field("watched", _ADDRESS),
        Field("kernel", _ADDRESS, "the function"),
        Field("printer", _ADDRESS, "as in a task"),
        Field("arena_bytes", CType.I64, "scratch memory of a thread"),
        Field("argument_bytes", CType.I64, "of all arguments"),
        Field("threads", CType.I64, "the most that run it"),
        Field("chunks", CType.I64, "of programs, per thread"),
        Field("stored", CType.I64, "bytes that a program stores"),
        Field("stream_from", CType.I64, "bytes from which on a launch stores past the caches"),
        Field("cost", CType.I64, "nanoseconds of 1024 programs, 0: not known yet"),
    ),
)
#: nanoseconds of work that are worth a helper, as a power of two
_SHARE = 14
#: bytes of a task with the most arguments that compiled code passes
TASK_BYTES = 8192

_TEXT = """
declare ptr @PyGILState_GetThisThreadState()
declare i64 @PyThread_get_thread_ident()
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare i32 @llvm.umin.i32(i32, i32)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal i64 @tri_pool_now() nounwind {
  %time = alloca { i64, i64 }, align 8
  %unused = call i32 @clock_gettime(i32 CLOCK, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %part = getelementptr { i64, i64 }, ptr %time, i32 0, i32 1
  %rest = load i64, ptr %part, align 8
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}

; threads that %total programs are worth, by what programs took before
define internal i64 @tri_pool_threads(ptr %native, i64 %total) nounwind {
  %cost = field native.cost, %native
  %most = field native.threads, %native
  %all = mul i64 %cost, %total
  %work = lshr i64 %all, 10
  %shares = lshr i64 %work, SHARE
  %worth = add i64 %shares, 1
  %few = call i64 @llvm.umin.i64(i64 %worth, i64 %most)
  %threads = call i64 @llvm.umin.i64(i64 %few, i64 %total)
  ret i64 %threads
}

; a launch of %total programs by %threads took %time: less is believed at once, more by and by
define internal void @tri_pool_learn(ptr %native, i64 %total, i64 %threads, i64 %time) nounwind {
  %spent = mul i64 %time, %threads
  %scaled = shl i64 %spent, 10
  %seen = udiv i64 %scaled, %total
  %positive = or i64 %seen, 1
  %cost_at = address native.cost, %native
  %cost = load i64, ptr %cost_at, align 8
  %unknown = icmp eq i64 %cost, 0
  %less = icmp ult i64 %positive, %cost
  %at_once = or i1 %unknown, %less
  %distance = sub i64 %positive, %cost
  %quarter = lshr i64 %distance, 2
  %nearer = add i64 %cost, %quarter
  %now = select i1 %at_once, i64 %positive, i64 %nearer
  store i64 %now, ptr %cost_at, align 8
  ret void
}

; the flag of a launch in the main thread, which is counted; null in others; %ready is false where no thread looks out
define internal i1 @tri_pool_watch(ptr %watched, ptr %flag) nounwind {
  store ptr null, ptr %flag, align 8
  %thread = call i64 @PyThread_get_thread_ident()
  %main = field watched.main, %watched
  %is_main = icmp eq i64 %thread, %main
  br i1 %is_main, label %count, label %yes
count:
  %begun_at = address watched.begun, %watched
  %begun = atomicrmw add ptr %begun_at, i64 1 seq_cst
  %awake_at = address watched.awake, %watched
  %awake = load atomic i32, ptr %awake_at seq_cst, align 4
  %looks = icmp ne i32 %awake, 0
  br i1 %looks, label %enter, label %no
enter:
  %depth_at = address watched.depth, %watched
  %depth = load i64, ptr %depth_at, align 8
  %deeper = add i64 %depth, 1
  store volatile i64 %deeper, ptr %depth_at, align 8
  %own = address watched.flag, %watched
  store ptr %own, ptr %flag, align 8
  br label %yes
no:
  ret i1 false
yes:
  ret i1 true
}

define internal void @tri_pool_unwatch(ptr %watched, ptr %flag) nounwind {
  %counted = icmp ne ptr %flag, null
  br i1 %counted, label %leave, label %done
leave:
  %depth_at = address watched.depth, %watched
  %depth = load i64, ptr %depth_at, align 8
  %higher = sub i64 %depth, 1
  store volatile i64 %higher, ptr %depth_at, align 8
  br label %done
done:
  ret void
}

; the task of a launch, without what tri_pool_go puts into it
define internal void @tri_pool_fill(ptr %task, ptr %native, ptr %config, i64 %total, i64 %threads, ptr %arguments) nounwind {
  call void @llvm.memset.p0.i64(ptr %task, i8 0, i64 TASK_SIZE, i1 false)
  %total_at = address task.total, %task
  store i64 %total, ptr %total_at, align 8
  %chunks = field native.chunks, %native
  %pieces = mul i64 %threads, %chunks
  %piece = udiv i64 %total, %pieces
  %chunk = call i64 @llvm.umax.i64(i64 %piece, i64 1)
  %chunk_at = address task.chunk, %task
  store i64 %chunk, ptr %chunk_at, align 8
  %grid_at = address task.grid_x, %task
  call void @llvm.memcpy.p0.p0.i64(ptr %grid_at, ptr %config, i64 12, i1 false)
  %printer = field native.printer, %native
  %printer_at = address task.printer, %task
  store ptr %printer, ptr %printer_at, align 8
  %stored = field native.stored, %native
  %stream_from = field native.stream_from, %native
  %bytes = mul i64 %stored, %total
  %many = icmp sge i64 %bytes, %stream_from
  %streams = zext i1 %many to i32
  %stream_at = address task.stream, %task
  store i32 %streams, ptr %stream_at, align 4
  %size = field native.argument_bytes, %native
  %place = getelementptr i8, ptr %task, i64 TASK_SIZE
  call void @llvm.memcpy.p0.p0.i64(ptr %place, ptr %arguments, i64 %size, i1 false)
  ret void
}

; the launch of a pool that is taken; the flag that a handler which raised sets
define internal i32 @tri_pool_measure(ptr %pool, ptr %native, ptr %config, ptr %arguments, ptr %flag, ptr %state) {
  %task = alloca [TASK_BYTES x i8], align 64
  %x32 = load i32, ptr %config, align 4
  %y_at = getelementptr i32, ptr %config, i64 1
  %y32 = load i32, ptr %y_at, align 4
  %z_at = getelementptr i32, ptr %config, i64 2
  %z32 = load i32, ptr %z_at, align 4
  %x = zext i32 %x32 to i64
  %y = zext i32 %y32 to i64
  %z = zext i32 %z32 to i64
  %xy = mul i64 %x, %y
  %total = mul i64 %xy, %z
  %threads = call i64 @tri_pool_threads(ptr %native, i64 %total)
  call void @tri_pool_fill(ptr %task, ptr %native, ptr %config, i64 %total, i64 %threads, ptr %arguments)
  %others = sub i64 %threads, 1
  %wanted = trunc i64 %others to i32
  %hired = field pool.hired, %pool
  %helpers = call i32 @llvm.umin.i32(i32 %wanted, i32 %hired)
  %arena = field pool.arena, %pool
  %kernel = field native.kernel, %native
  %begin = call i64 @tri_pool_now()
  call void @tri_pool_go(ptr %pool, ptr %kernel, ptr %task, ptr %arena, i32 %helpers, ptr %flag, ptr %state)
  %end = call i64 @tri_pool_now()
  %time = sub i64 %end, %begin
  %used32 = add i32 %helpers, 1
  %used = zext i32 %used32 to i64
  call void @tri_pool_learn(ptr %native, i64 %total, i64 %used, i64 %time)
  %cancelled = field task.cancelled, %task
  ret i32 %cancelled
}

define i32 @tri_pool_start(ptr %config, ptr %native, ptr %parameters, ptr %extra) {
  %flag_at = alloca ptr, align 8
  %pool = field native.pool, %native
  %watched = field native.watched, %native
  %state = call ptr @PyGILState_GetThisThreadState()
  %unknown = icmp eq ptr %state, null
  br i1 %unknown, label %no, label %take
take:
  %free = call i32 @tri_pool_take(ptr %pool)
  %is_free = icmp ne i32 %free, 0
  br i1 %is_free, label %look, label %no
look:
  %has = field pool.arena_bytes, %pool
  %wants = field native.arena_bytes, %native
  %arena = field pool.arena, %pool
  %bare = icmp eq ptr %arena, null
  %small = icmp slt i64 %has, %wants
  %unready = or i1 %bare, %small
  br i1 %unready, label %back, label %watch
watch:
  %watches = call i1 @tri_pool_watch(ptr %watched, ptr %flag_at)
  br i1 %watches, label %launch, label %back
launch:
  %flag = load ptr, ptr %flag_at, align 8
  %size = field native.argument_bytes, %native
  %none = icmp eq i64 %size, 0
  br i1 %none, label %go, label %read
read:
  %given = load ptr, ptr %parameters, align 8
  br label %go
go:
  %arguments = phi ptr [ %config, %launch ], [ %given, %read ]
  %status = call i32 @tri_pool_measure(ptr %pool, ptr %native, ptr %config, ptr %arguments, ptr %flag, ptr %state)
  call void @tri_pool_unwatch(ptr %watched, ptr %flag)
  call void @tri_pool_give(ptr %pool)
  ret i32 %status
back:
  call void @tri_pool_give(ptr %pool)
  br label %no
no:
  ret i32 1
}
"""

_NUMBERS = {"TASK_SIZE": TASK.size, "TASK_BYTES": TASK_BYTES, "SHARE": _SHARE, "CLOCK": time.CLOCK_MONOTONIC}
START = re.sub(r"\b(TASK_SIZE|TASK_BYTES|SHARE|CLOCK)\b", lambda word: str(_NUMBERS[word[0]]), _TEXT)
