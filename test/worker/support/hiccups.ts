/** Lets calls of the platform fail, by their number: of D1, R2, the queues and the objects together. */
import { env } from "cloudflare:workers";
import { onTestFinished } from "vitest";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { PoolObject } from "../../../src/objects/pool/object.ts";
import { PredictionObject } from "../../../src/objects/prediction/object.ts";
import { RunnerObject } from "../../../src/objects/runner/object.ts";

export interface Failure {
  message: string;
  /** Whether it has taken effect, and only its answer is lost. */
  isDone: boolean;
}

/** Says how a call fails, if it does. @param nth from 1 */
type Fate = (nth: number) => Failure | undefined;

export interface Injection {
  /** From now on, calls are counted, and some may fail. */
  begin: (fate: Fate) => void;
  /** Those since then. */
  calls: () => string[];
  end: () => void;
}

/** What is called by the platform, not by us, and what none of them have. */
const NO_CALLS = new Set(["constructor", "alarm", "webSocketMessage", "webSocketClose"]);

const D1 = ["all", "raw", "run", "first"];
const R2 = ["head", "get", "put", "delete", "list", "createMultipartUpload"];
const R2_UPLOAD = ["uploadPart", "complete", "abort"];
const QUEUE = ["send", "sendBatch"];

const statement = Object.getPrototypeOf(env.DB.prepare("SELECT 1"));
const prototypeOf = (binding: object): object => Object.getPrototypeOf(binding);

/** Each object that has methods, and their names. */
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

/** Until the test ends. */
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
          // An object's own call of one of its methods may not wait for it.
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
