/**
 * Every call to a Durable Object ends. One that hangs would hold up whoever waits for it: a request,
 * an alarm and all later ones of its object, a batch of the queue, a sweep.
 */
import { withTimeout } from "../lib/timeout.ts";

/**
 * An object answers within milliseconds; one that has to start far away, or reads and deletes much,
 * within seconds.
 */
export const ANSWER_MS = 10_000;

/**
 * The stub of an object. Its calls reject with TimedOut after the time; what they have done by then,
 * or will do, is unknown.
 */
export const bounded = <Stub extends object>(stub: Stub, ms = ANSWER_MS): Stub =>
  new Proxy(stub, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) =>
        withTimeout(Reflect.apply(member, target, args), ms, `answer to ${String(name)}`);
    },
  });
