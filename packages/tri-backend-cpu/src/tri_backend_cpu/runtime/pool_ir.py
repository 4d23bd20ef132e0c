"""The thread pool's functions, as LLVM IR.

``tri_pool_work(pool, slot)`` is the life of a helper thread, ``tri_pool_run`` a launch, called with Python's lock: it
gives the lock back, offers a task to the helpers, works on it too, and returns when nobody does any more.  A task is safe
to be worked on by any number of threads (:mod:`tri_backend_cpu.launch_abi`), so a helper that comes late does no harm,
and the launching thread never waits for one that has not begun.  Helpers look out for the next task for a while
before they sleep: waking a thread takes longer than many a kernel.

``tri_pool_poll(task, arena)`` is what kernels call when the task's attention flag is set, and what a launch that waits
for helpers does.  In the thread of an interruptible launch it lets Python handle signals; where a handler raises, the
launch is given up: no program is begun any more, every thread leaves its program at the next poll (by ``longjmp``: a
kernel has nothing to clean up), and the launch returns with the exception set when the last one has left.
"""

from __future__ import annotations

from tri_backend_cpu.launch_abi import TASK
from tri_backend_cpu.runtime.start_ir import NATIVE, START, WATCHED
from tri_runtime.schema import CType, Field, Record, expand

__all__ = [
    "ENTRIES",
    "ENTRY_GIVE",
    "ENTRY_RUN",
    "ENTRY_START",
    "ENTRY_TAKE",
    "ENTRY_WORK",
    "HEADER",
    "POOL",
    "POOL_IR",
]

ENTRY_WORK = "tri_pool_work"
ENTRY_RUN = "tri_pool_run"
ENTRY_TAKE = "tri_pool_take"
ENTRY_GIVE = "tri_pool_give"
ENTRY_START = "tri_pool_start"
ENTRIES = (ENTRY_WORK, ENTRY_RUN, ENTRY_TAKE, ENTRY_GIVE, ENTRY_START)

_I32, _ADDRESS = CType.I32, CType.POINTER
POOL = Record(
    "pool",
    (
        Field("mutex", CType.BYTE, "space for any C library's", 128),
        Field("task_signal", CType.BYTE, "condition: there is a new task", 128),
        Field("done_signal", CType.BYTE, "condition: the last helper has left the task", 128),
        Field("newest", CType.I64, "number of the newest task"),
        Field("open", _I32, "whether helpers may still join it"),
        Field("active", _I32, "helpers that work on it"),
        Field("allowed", _I32, "helpers that may"),
        Field("asleep", _I32, "helpers asleep"),
        Field("kernel", _ADDRESS, "its kernel"),
        Field("task", _ADDRESS, "its task record"),
        Field("calm", _I32, "attention of launches that cannot be interrupted: 0"),
        Field("taken", _I32, "1 while a launch may use the helpers: others run alone"),
        Field("hired", _I32, "helpers that there are"),
        Field("arena", _ADDRESS, "scratch memory of launches by compiled code"),
        Field("arena_bytes", CType.I64, "what it has, and each helper's"),
    ),
)
#: in front of an arena
HEADER = Record(
    "header",
    (
        Field("jump", CType.BYTE, "where its thread leaves a kernel: a jmp_buf", 2048),
        Field("state", _ADDRESS, "Python's state of the thread if its launch can be interrupted"),
        Field("padding", CType.BYTE, "", 2040),
    ),
)

_TEXT = """
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @clock_gettime(i32, ptr)
declare i32 @_setjmp(ptr) returns_twice
declare void @_longjmp(ptr, i32) noreturn
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @PyErr_CheckSignals()


define internal void @tri_pool_call(ptr %kernel, ptr %task, ptr %arena) noinline {
  %header = getelementptr %header, ptr %arena, i64 -1
  %left = call i32 @_setjmp(ptr %header) returns_twice
  %again = icmp ne i32 %left, 0
  br i1 %again, label %done, label %run
run:
  call void %kernel(ptr %task, ptr %arena)
  br label %done
done:
  ret void
}

; let Python handle signals; whether a handler raised: then the launch is given up
define internal i1 @tri_pool_signals(ptr %task, ptr %state) {
  %flag_field = address task.attention, %task
  %flag = load ptr, ptr %flag_field, align 8
  store volatile i32 0, ptr %flag, align 4
  call void @PyEval_RestoreThread(ptr %state)
  %code = call i32 @PyErr_CheckSignals()
  %same = call ptr @PyEval_SaveThread()
  %raised = icmp ne i32 %code, 0
  br i1 %raised, label %cancel, label %done
cancel:
  %cancelled = address task.cancelled, %task
  store atomic i32 1, ptr %cancelled seq_cst, align 4
  store atomic i64 4611686018427387904, ptr %task seq_cst, align 8
  store volatile i32 1, ptr %flag, align 4
  br label %done
done:
  ret i1 %raised
}

define internal void @tri_pool_poll(ptr %task, ptr %arena) {
  %header = getelementptr %header, ptr %arena, i64 -1
  %state_field = address header.state, %header
  %state = load ptr, ptr %state_field, align 8
  %helps = icmp eq ptr %state, null
  br i1 %helps, label %look, label %handle
handle:
  %raised = call i1 @tri_pool_signals(ptr %task, ptr %state)
  br i1 %raised, label %leave, label %go_on
look:
  %cancelled = address task.cancelled, %task
  %code = load atomic i32, ptr %cancelled seq_cst, align 4
  %over = icmp ne i32 %code, 0
  br i1 %over, label %leave, label %go_on
leave:
  call void @_longjmp(ptr %header, i32 1)
  unreachable
go_on:
  ret void
}

; whether the helpers may be used until tri_pool_give
define i32 @tri_pool_take(ptr %pool) nounwind {
  %taken = address pool.taken, %pool
  %pair = cmpxchg ptr %taken, i32 0, i32 1 acq_rel acquire
  %free = extractvalue { i32, i1 } %pair, 1
  %answer = zext i1 %free to i32
  ret i32 %answer
}

define void @tri_pool_give(ptr %pool) nounwind {
  %taken = address pool.taken, %pool
  store atomic i32 0, ptr %taken release, align 4
  ret void
}

; %flag: what is set when Python wants to handle signals, null where it does not; %helpers may be 0
define void @tri_pool_run(ptr %pool, ptr %kernel, ptr %task, ptr %arena, i32 %helpers, ptr %flag) {
  %state = call ptr @PyEval_SaveThread()
  call void @tri_pool_go(ptr %pool, ptr %kernel, ptr %task, ptr %arena, i32 %helpers, ptr %flag, ptr %state)
  call void @PyEval_RestoreThread(ptr %state)
  ret void
}

; the same without Python's lock; %state: Python's of this thread
define internal void @tri_pool_go(ptr %pool, ptr %kernel, ptr %task, ptr %arena, i32 %helpers, ptr %flag, ptr %state) {
  %calm = address pool.calm, %pool
  %lasting = icmp ne ptr %flag, null
  %own_flag = select i1 %lasting, ptr %flag, ptr %calm
  %own_state = select i1 %lasting, ptr %state, ptr null
  %flag_field = address task.attention, %task
  store ptr %own_flag, ptr %flag_field, align 8
  %poll_field = address task.poll, %task
  store ptr @tri_pool_poll, ptr %poll_field, align 8
  %cancelled = address task.cancelled, %task
  store i32 0, ptr %cancelled, align 4
  %header = getelementptr %header, ptr %arena, i64 -1
  %state_field = address header.state, %header
  store ptr %own_state, ptr %state_field, align 8
  %alone = icmp eq i32 %helpers, 0
  br i1 %alone, label %call, label %share
call:
  call void @tri_pool_call(ptr %kernel, ptr %task, ptr %arena)
  br label %done
share:
  call void @tri_pool_launch(ptr %pool, ptr %kernel, ptr %task, ptr %arena, i32 %helpers)
  br label %done
done:
  store volatile i32 0, ptr %own_flag, align 4
  ret void
}

; wait until the last helper has left, for 50 ms at most
define internal void @tri_pool_nap(ptr %pool, ptr %signal) {
  %end = alloca { i64, i64 }, align 8
  %unused = call i32 @clock_gettime(i32 0, ptr %end)
  %part = getelementptr { i64, i64 }, ptr %end, i32 0, i32 1
  %now = load i64, ptr %part, align 8
  %later = add i64 %now, 50000000
  %over = icmp sge i64 %later, 1000000000
  %less = sub i64 %later, 1000000000
  %rest = select i1 %over, i64 %less, i64 %later
  store i64 %rest, ptr %part, align 8
  %second = load i64, ptr %end, align 8
  %more = zext i1 %over to i64
  %until = add i64 %second, %more
  store i64 %until, ptr %end, align 8
  %woken = call i32 @pthread_cond_timedwait(ptr %signal, ptr %pool, ptr %end)
  ret void
}

define void @tri_pool_work(ptr %pool, ptr %slot) nounwind {
entry:
  %task_signal = address pool.task_signal, %pool
  %done_signal = address pool.done_signal, %pool
  %newest = address pool.newest, %pool
  %open = address pool.open, %pool
  %active = address pool.active, %pool
  %allowed = address pool.allowed, %pool
  %asleep = address pool.asleep, %pool
  %kernel_field = address pool.kernel, %pool
  %task_field = address pool.task, %pool
  br label %look_out
look_out:
  %seen = phi i64 [ 0, %entry ], [ %number, %skip ], [ %number, %left ]
  br label %spin
spin:
  %iteration = phi i32 [ 0, %look_out ], [ %next_iteration, %spin_on ]
  %now = load atomic i64, ptr %newest acquire, align 8
  %same = icmp eq i64 %now, %seen
  %next_iteration = add i32 %iteration, 1
  %patient = icmp slt i32 %iteration, 2000
  %again = and i1 %same, %patient
  br i1 %again, label %spin_on, label %lock
spin_on:
  PAUSE
  br label %spin
lock:
  call i32 @pthread_mutex_lock(ptr %pool)
  br label %check
check:
  %number = load i64, ptr %newest, align 8
  %old = icmp eq i64 %number, %seen
  br i1 %old, label %sleep, label %join
sleep:
  %sleepers = load i32, ptr %asleep, align 4
  %more = add i32 %sleepers, 1
  store i32 %more, ptr %asleep, align 4
  call i32 @pthread_cond_wait(ptr %task_signal, ptr %pool)
  %sleepers_after = load i32, ptr %asleep, align 4
  %fewer = sub i32 %sleepers_after, 1
  store i32 %fewer, ptr %asleep, align 4
  br label %check
join:
  %is_open = load i32, ptr %open, align 4
  %working = load i32, ptr %active, align 4
  %limit = load i32, ptr %allowed, align 4
  %offered = icmp ne i32 %is_open, 0
  %below_limit = icmp slt i32 %working, %limit
  %go = and i1 %offered, %below_limit
  br i1 %go, label %work, label %skip
skip:
  call i32 @pthread_mutex_unlock(ptr %pool)
  br label %look_out
work:
  %one_more = add i32 %working, 1
  store i32 %one_more, ptr %active, align 4
  %kernel = load ptr, ptr %kernel_field, align 8
  %task = load ptr, ptr %task_field, align 8
  %arena = load ptr, ptr %slot, align 8
  call i32 @pthread_mutex_unlock(ptr %pool)
  call void @tri_pool_call(ptr %kernel, ptr %task, ptr %arena)
  call i32 @pthread_mutex_lock(ptr %pool)
  %working_after = load i32, ptr %active, align 4
  %one_less = sub i32 %working_after, 1
  store atomic i32 %one_less, ptr %active release, align 4
  %last = icmp eq i32 %one_less, 0
  br i1 %last, label %notify, label %left
notify:
  call i32 @pthread_cond_broadcast(ptr %done_signal)
  br label %left
left:
  call i32 @pthread_mutex_unlock(ptr %pool)
  br label %look_out
}

define internal void @tri_pool_launch(ptr %pool, ptr %kernel, ptr %task, ptr %arena, i32 %helpers) nounwind {
entry:
  %task_signal = address pool.task_signal, %pool
  %done_signal = address pool.done_signal, %pool
  %newest = address pool.newest, %pool
  %open = address pool.open, %pool
  %active = address pool.active, %pool
  %allowed = address pool.allowed, %pool
  %asleep = address pool.asleep, %pool
  %kernel_field = address pool.kernel, %pool
  %task_field = address pool.task, %pool
  call i32 @pthread_mutex_lock(ptr %pool)
  store ptr %kernel, ptr %kernel_field, align 8
  store ptr %task, ptr %task_field, align 8
  store i32 %helpers, ptr %allowed, align 4
  store i32 1, ptr %open, align 4
  %number = load i64, ptr %newest, align 8
  %next = add i64 %number, 1
  store atomic i64 %next, ptr %newest release, align 8
  %sleepers = load i32, ptr %asleep, align 4
  call i32 @pthread_mutex_unlock(ptr %pool)
  %any = icmp ne i32 %sleepers, 0
  br i1 %any, label %wake, label %work
wake:
  call i32 @pthread_cond_broadcast(ptr %task_signal)
  br label %work
work:
  call void @tri_pool_call(ptr %kernel, ptr %task, ptr %arena)
  call i32 @pthread_mutex_lock(ptr %pool)
  store i32 0, ptr %open, align 4
  %working = load i32, ptr %active, align 4
  call i32 @pthread_mutex_unlock(ptr %pool)
  %alone = icmp eq i32 %working, 0
  br i1 %alone, label %done, label %spin
spin:
  %iteration = phi i32 [ 0, %work ], [ %next_iteration, %spin_on ]
  %now = load atomic i32, ptr %active acquire, align 4
  %busy = icmp ne i32 %now, 0
  %next_iteration = add i32 %iteration, 1
  %patient = icmp slt i32 %iteration, 2000
  %again = and i1 %busy, %patient
  br i1 %again, label %spin_on, label %lock
spin_on:
  PAUSE
  br label %spin
lock:
  call i32 @pthread_mutex_lock(ptr %pool)
  br label %check
check:
  %left = load i32, ptr %active, align 4
  %finished = icmp eq i32 %left, 0
  br i1 %finished, label %unlock, label %wait
wait:
  %header = getelementptr %header, ptr %arena, i64 -1
  %state_field = address header.state, %header
  %state = load ptr, ptr %state_field, align 8
  %cancelled = address task.cancelled, %task
  %code = load i32, ptr %cancelled, align 4
  %given_up = icmp ne i32 %code, 0
  %deaf = icmp eq ptr %state, null
  %sleeps = or i1 %given_up, %deaf
  br i1 %sleeps, label %sleep, label %nap
sleep:
  call i32 @pthread_cond_wait(ptr %done_signal, ptr %pool)
  br label %check
nap:
  call void @tri_pool_nap(ptr %pool, ptr %done_signal)
  call i32 @pthread_mutex_unlock(ptr %pool)
  %raised = call i1 @tri_pool_signals(ptr %task, ptr %state)
  br label %lock
unlock:
  call i32 @pthread_mutex_unlock(ptr %pool)
  br label %done
done:
  ret void
}
"""

_RECORDS = (POOL, TASK, HEADER, WATCHED, NATIVE)
POOL_IR = expand("\n".join((*(record.llvm for record in _RECORDS), _TEXT, START)), _RECORDS)
