/**
 * Resets of objects while they write to their storage, at a write by its number, as when the storage is full
 * or the code was updated. Only durable data stays, all memory is lost, and the next call reaches a new
 * instance. workerd breaks an object that way after any such error.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { onTestFinished } from "vitest";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { PoolObject } from "../../../src/objects/pool/object.ts";
import { PredictionObject } from "../../../src/objects/prediction/object.ts";
import { RunnerObject } from "../../../src/objects/runner/object.ts";
import type { Injection } from "./failing.ts";

/** Statements that only read store nothing. */
const READS = /^\s*(?:select|with|pragma)/i;
const WRITES = ["put", "delete", "deleteAll", "setAlarm", "exec"];

const CLASSES = [PredictionObject, AccountObject, PoolObject, RunnerObject];

/** The prototypes of an object's storage, its keys and its SQL. */
const storagePrototypes = await runInDurableObject(
  env.POOL.getByName("storage"),
  (_, { storage }) =>
    [storage, storage.kv, storage.sql].map((one): object => Object.getPrototypeOf(one)),
);

/** Methods of objects that were called while writes were counted, such as `PoolObject.enqueue`. */
export const reached = new Set<string>();

/** All methods of the objects. */
export const methods = CLASSES.flatMap(({ name, prototype }) =>
  Object.getOwnPropertyNames(prototype)
    .filter((method) => method !== "constructor")
    .map((method) => `${name}.${method}`),
);

/** Counts writes and resets objects at some of them, until the test ends. */
export function resetting(): Injection {
  let count = 0;
  let fate: Parameters<Injection["begin"]>[0] = () => undefined;
  const names: string[] = [];
  /** Called objects by each part of their storage. */
  const owners = new WeakMap<object, { name: string; ctx: DurableObjectState }>();
  for (const { name, prototype } of CLASSES)
    for (const target of [prototype, Object.getPrototypeOf(prototype)])
      for (const method of Object.getOwnPropertyNames(target))
        before(target, method, (self) => {
          reached.add(`${name}.${method}`);
          const ctx: DurableObjectState = Reflect.get(self, "ctx") ?? Reflect.get(self, "state");
          const { storage } = ctx;
          for (const part of [storage, storage.kv, storage.sql]) owners.set(part, { name, ctx });
        });
  for (const target of storagePrototypes)
    for (const method of WRITES)
      before(target, method, (self, [first]) => {
        const owner = owners.get(self);
        if (!owner || (method === "exec" && READS.test(String(first)))) return;
        count += 1;
        names.push(`${owner.name} ${method} ${String(first).trim().slice(0, 30)}`);
        const failure = fate(count);
        if (!failure) return;
        owner.ctx.abort(failure.message);
        throw new Error(failure.message);
      });
  return {
    begin(next) {
      count = 0;
      names.length = 0;
      fate = next;
    },
    calls: () => [...names],
    end() {
      fate = () => undefined;
    },
  };
}

/** Runs `act` before each call of a method, until the test ends. */
function before(target: object, name: string, act: (self: object, args: unknown[]) => void): void {
  const descriptor = Object.getOwnPropertyDescriptor(target, name);
  const method: unknown = descriptor?.value;
  if (!descriptor || typeof method !== "function" || name === "constructor") return;
  Object.defineProperty(target, name, {
    ...descriptor,
    value(this: object, ...args: unknown[]): unknown {
      act(this, args);
      return Reflect.apply(method, this, args);
    },
  });
  onTestFinished(() => void Object.defineProperty(target, name, descriptor));
}
