/** Failing calls of the platform, by their number: of D1, R2, the queues and the objects together. */
import { env } from "cloudflare:workers";
import { onTestFinished } from "vitest";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { PoolObject } from "../../../src/objects/pool/object.ts";
import { PredictionObject } from "../../../src/objects/prediction/object.ts";
import { RunnerObject } from "../../../src/objects/runner/object.ts";

export interface Failure {
  message: string;
  /** The failed call has taken effect, and only its answer is lost. */
  isDone: boolean;
}

/** Returns how a call fails, if it does. @param nth the number of the call, from 1 */
type Fate = (nth: number) => Failure | undefined;

export interface Injection {
  /** Begins to count calls, some of which fail by `fate`. */
  begin: (fate: Fate) => void;
  /** Returns the names of the calls since `begin`. */
  calls: () => string[];
  end: () => void;
}

/** Methods that the platform calls, not our code, and methods that every object has. */
const NO_CALLS = new Set(["constructor", "alarm", "webSocketMessage", "webSocketClose"]);

const D1 = ["all", "raw", "run", "first"];
const R2 = ["head", "get", "put", "delete", "list", "createMultipartUpload"];
const R2_UPLOAD = ["uploadPart", "complete", "abort"];
const QUEUE = ["send", "sendBatch"];

const statement = Object.getPrototypeOf(env.DB.prepare("SELECT 1"));
const prototypeOf = (binding: object): object => Object.getPrototypeOf(binding);

/** Objects with methods, and the methods' names. */
const PLACES: [string, object, string[]][] = [
  ["D1", statement, D1],
  ["D1", prototypeOf(env.DB), ["batch"]],
  ["D1 nearby", prototypeOf(env.DB.withSession()), ["batch"]],
  ["R2", prototypeOf(env.FILES), R2],
  ["R2 upload", prototypeOf(env.FILES.resumeMultipartUpload("key", "id")), R2_UPLOAD],
  ["queue", prototypeOf(env.DISPATCH), QUEUE],
  ...[PredictionObject, AccountObject, PoolObject, RunnerObject].map(
    ({ name, prototype }): [string, object, string[]] => [
      name,
      prototype,
      Object.getOwnPropertyNames(prototype).filter((one) => !NO_CALLS.has(one)),
    ],
  ),
];

async function meets(failure: Failure | undefined, call: () => Promise<unknown>) {
  if (failure && !failure.isDone) throw new Error(failure.message);
  const result = await call();
  if (failure) throw new Error(failure.message);
  return result;
}

/** Counts calls and lets them fail, until the test ends. */
export function failing(): Injection {
  let count = 0;
  let fate: Fate = () => undefined;
  const names: string[] = [];
  const undo: (() => void)[] = [];
  for (const [place, target, methods] of PLACES)
    for (const name of methods) {
      const descriptor = Object.getOwnPropertyDescriptor(target, name);
      const method: unknown = descriptor?.value;
      if (!descriptor || typeof method !== "function") continue;
      Object.defineProperty(target, name, {
        ...descriptor,
        value(this: unknown, ...args: unknown[]) {
          count += 1;
          names.push(`${place}.${name}`);
          const answer = meets(fate(count), async () => Reflect.apply(method, this, args));
          // Code that calls a method of its own object may not await the result.
          answer.catch(() => {});
          return answer;
        },
      });
      undo.push(() => Object.defineProperty(target, name, descriptor));
    }
  const restore = () => {
    for (const one of undo.splice(0)) one();
  };
  onTestFinished(restore);
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
