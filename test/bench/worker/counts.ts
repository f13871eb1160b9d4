/** The meter. The Worker and the objects share one isolate here, and so these numbers. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Look, Operations } from "../prices.ts";

export const counts: Operations = {
  worker_requests: 0,
  object_requests: 0,
  object_messages: 0,
  object_ms: 0,
  object_rows_read: 0,
  object_rows_written: 0,
  d1_rows_read: 0,
  d1_rows_written: 0,
  queue_operations: 0,
  log_events: 0,
};

/** Numbers that show from outside whether more operations will come. */
export const progress: Omit<Look, "counts"> = { emptied: 0, queued: 0 };

/** Counts all lines, because every line is billed, and prints only warnings and errors. */
export function countLines(): void {
  for (const level of ["debug", "log", "info", "warn", "error"] as const) {
    const write = console[level].bind(console);
    console[level] = (...line: unknown[]) => {
      counts.log_events += 1;
      if (level === "warn" || level === "error") write(...line);
    };
  }
}

/**
 * The time that objects are billed for: while one runs or cannot hibernate, because a call, a stream, a timer
 * or a promise of it is open. Several at a time count once.
 */

interface Awake {
  reasons: number;
  since: number;
}

const awake = new Map<string, Awake>();
/** The ID of the object whose code runs. */
const running = new AsyncLocalStorage<string>();

/** Gives an object one more reason to stay awake; the returned function ends it. */
export function opened(id: string): () => void {
  const own = awake.get(id) ?? { reasons: 0, since: Date.now() };
  own.reasons += 1;
  awake.set(id, own);
  return () => {
    own.reasons -= 1;
    if (own.reasons > 0) return;
    awake.delete(id);
    counts.object_ms += Date.now() - own.since;
  };
}

/** Makes calls of the methods of a class, and all that they start, reasons for their object to stay awake. */
export function watchMethods(prototype: object, idOf: (object: object) => string): void {
  const all = Object.entries(Object.getOwnPropertyDescriptors(prototype));
  for (const [name, { value: method }] of all) {
    if (typeof method !== "function" || name === "constructor") continue;
    Object.defineProperty(prototype, name, {
      value(this: object, ...args: unknown[]) {
        return runAs(idOf(this), () => Reflect.apply(method, this, args));
      },
    });
  }
}

function runAs(id: string, code: () => unknown): unknown {
  const end = opened(id);
  const result = running.run(id, code);
  if (result instanceof Promise) result.then(end, end);
  else end();
  return result;
}

/** Makes a promise a reason for the running object to stay awake. */
export function openedBy(promise: Promise<unknown>): void {
  const id = running.getStore();
  if (id === undefined) return;
  const end = opened(id);
  promise.then(end, end);
}

/** Makes timers reasons for the object that sets them; those of the Worker and the pool are not counted. */
export function countTimers(): void {
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  const pending = new Map<unknown, () => void>();
  const settle = (timer: unknown) => {
    pending.get(timer)?.();
    pending.delete(timer);
  };
  Object.assign(globalThis, {
    setTimeout(callback: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) {
      const id = running.getStore();
      if (id === undefined) return set(callback, ms, ...args);
      const timer = set(() => {
        try {
          callback(...args);
        } finally {
          settle(timer);
        }
      }, ms);
      pending.set(timer, opened(id));
      return timer;
    },
    clearTimeout(timer: number | null) {
      settle(timer);
      clear(timer);
    },
  });
}
