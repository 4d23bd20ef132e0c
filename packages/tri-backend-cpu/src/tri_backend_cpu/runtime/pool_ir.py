"""The thread pool's two functions, as LLVM IR.

``tri_pool_work(pool, slot)`` is the life of a helper thread, ``tri_pool_launch`` a launch: it offers a task
to the helpers, works on it too, and returns when nobody does any more.  A task is safe to be worked on by
any number of threads (:mod:`tri_backend_cpu.launch_abi`), so a helper that comes late does no harm, and the
launching thread never waits for one that has not begun.  Helpers look out for the next task for a while
before they sleep: waking a thread takes longer than many a kernel.
"""

from __future__ import annotations

__all__ = ["ENTRY_LAUNCH", "ENTRY_WORK", "POOL_BYTES", "POOL_IR"]

ENTRY_WORK = "tri_pool_work"
ENTRY_LAUNCH = "tri_pool_launch"

#: mutex, two condition variables (with room for any C library's), fields
POOL_BYTES = 512

POOL_IR = """
%pool = type {
  [128 x i8],  ; 0 mutex
  [128 x i8],  ; 1 condition: there is a new task
  [128 x i8],  ; 2 condition: the last helper has left the task
  i64,         ; 3 number of the newest task
  i32,         ; 4 whether helpers may still join it
  i32,         ; 5 helpers that work on it
  i32,         ; 6 helpers that may
  i32,         ; 7 helpers asleep
  ptr,         ; 8 its kernel
  ptr          ; 9 its task record
}

declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)

define void @tri_pool_work(ptr %pool, ptr %slot) nounwind {
entry:
  %task_signal = getelementptr %pool, ptr %pool, i32 0, i32 1
  %done_signal = getelementptr %pool, ptr %pool, i32 0, i32 2
  %newest = getelementptr %pool, ptr %pool, i32 0, i32 3
  %open = getelementptr %pool, ptr %pool, i32 0, i32 4
  %active = getelementptr %pool, ptr %pool, i32 0, i32 5
  %allowed = getelementptr %pool, ptr %pool, i32 0, i32 6
  %asleep = getelementptr %pool, ptr %pool, i32 0, i32 7
  %kernel_field = getelementptr %pool, ptr %pool, i32 0, i32 8
  %task_field = getelementptr %pool, ptr %pool, i32 0, i32 9
  br label %look_out
look_out:
  %seen = phi i64 [ 0, %entry ], [ %number, %skip ], [ %number, %left ]
  br label %spin
spin:
  %turn = phi i32 [ 0, %look_out ], [ %next_turn, %spin_on ]
  %now = load atomic i64, ptr %newest acquire, align 8
  %same = icmp eq i64 %now, %seen
  %next_turn = add i32 %turn, 1
  %patient = icmp slt i32 %turn, 2000
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
  %room = icmp slt i32 %working, %limit
  %go = and i1 %offered, %room
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
  call void %kernel(ptr %task, ptr %arena)
  call i32 @pthread_mutex_lock(ptr %pool)
  %working_after = load i32, ptr %active, align 4
  %one_less = sub i32 %working_after, 1
  store atomic i32 %one_less, ptr %active release, align 4
  %last = icmp eq i32 %one_less, 0
  br i1 %last, label %tell, label %left
tell:
  call i32 @pthread_cond_broadcast(ptr %done_signal)
  br label %left
left:
  call i32 @pthread_mutex_unlock(ptr %pool)
  br label %look_out
}

define void @tri_pool_launch(ptr %pool, ptr %kernel, ptr %task, ptr %arena, i32 %helpers) nounwind {
entry:
  %task_signal = getelementptr %pool, ptr %pool, i32 0, i32 1
  %done_signal = getelementptr %pool, ptr %pool, i32 0, i32 2
  %newest = getelementptr %pool, ptr %pool, i32 0, i32 3
  %open = getelementptr %pool, ptr %pool, i32 0, i32 4
  %active = getelementptr %pool, ptr %pool, i32 0, i32 5
  %allowed = getelementptr %pool, ptr %pool, i32 0, i32 6
  %asleep = getelementptr %pool, ptr %pool, i32 0, i32 7
  %kernel_field = getelementptr %pool, ptr %pool, i32 0, i32 8
  %task_field = getelementptr %pool, ptr %pool, i32 0, i32 9
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
  call void %kernel(ptr %task, ptr %arena)
  call i32 @pthread_mutex_lock(ptr %pool)
  store i32 0, ptr %open, align 4
  %working = load i32, ptr %active, align 4
  call i32 @pthread_mutex_unlock(ptr %pool)
  %alone = icmp eq i32 %working, 0
  br i1 %alone, label %done, label %spin
spin:
  %turn = phi i32 [ 0, %work ], [ %next_turn, %spin_on ]
  %now = load atomic i32, ptr %active acquire, align 4
  %busy = icmp ne i32 %now, 0
  %next_turn = add i32 %turn, 1
  %patient = icmp slt i32 %turn, 2000
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
  call i32 @pthread_cond_wait(ptr %done_signal, ptr %pool)
  br label %check
unlock:
  call i32 @pthread_mutex_unlock(ptr %pool)
  br label %done
done:
  ret void
}
"""
