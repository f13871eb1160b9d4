/** A cancel ends its prediction, and nothing else cancels one. */
import type { MadeCall } from "../history.ts";
import type { Call } from "../plan/calls.ts";
import { isFinal } from "../state.ts";
import { type Breach, callIn, eachOf, endOf, isDisturbed, type StormPromise } from "./promise.ts";

export const cancelsCount: StormPromise = {
  name: "what was cancelled is canceled, unless it had ended",
  check: eachOf(
    ({ calls }) =>
      calls.flatMap(({ call, cancels }) => cancels.map((one) => ({ ...one, n: call.n }))),
    ({ id, n, status }, history): Breach[] => {
      const end = endOf(history, id)?.object?.status ?? "gone";
      if (status === 202 && end !== "canceled")
        return [{ id, n, what: `its cancel was accepted, and it is ${end}` }];
      if (status === 409 && !isFinal({ status: end }))
        return [{ id, n, what: `it could not be cancelled, for it had ended, and is ${end}` }];
      if (status !== 202 && status !== 409)
        return [{ id, n, what: `its cancel was answered with ${status}` }];
      return [];
    },
  ),
};

/** The time in which a runner must stop a model (bed.ts), ms. */
const OBEY_MS = 8_000;
/** The time that a busy machine adds, ms. */
const LATE_MS = 5_000;

export const waitsCancel: StormPromise = {
  name: "what is waited for with `cancel` ends soon after the wait",
  check: eachOf(
    ({ calls, ends }) => {
      const waits = new Map(calls.flatMap(({ call }) => cancellingWait(call)));
      return ends.flatMap((end) => {
        const waitMs = waits.get(callIn(end) ?? -1);
        return waitMs === undefined || !end.object ? [] : [{ object: end.object, waitMs }];
      });
    },
    ({ object, waitMs }, history): Breach[] => {
      const { id, status } = object;
      const from = Date.parse(object.created_at);
      const ms = Date.parse(object.updated_at) - from;
      const most = waitMs + LATE_MS + (status === "canceled" ? OBEY_MS : 0);
      if (ms <= most || isDisturbed(history, from, from + most)) return [];
      return [
        { id, what: `a wait of ${waitMs} ms was to cancel it, and it is ${status} after ${ms}` },
      ];
    },
  ),
};

/** Returns the number of the call, and its wait until it cancels, ms. */
const cancellingWait = ({ n, work }: Call): [number, number][] =>
  work.kind === "sums" && work.cancels && work.wait > 0 ? [[n, work.wait * 1_000]] : [];

export const nothingElseCancels: StormPromise = {
  name: "nothing is canceled that nobody cancelled",
  check: eachOf(
    ({ calls }) =>
      calls
        .filter((made) => !mayBeCanceled(made))
        .flatMap(({ call, accepted }) => accepted.slice(0, 1).map(({ id }) => ({ id, n: call.n }))),
    ({ id, n }, history): Breach[] =>
      endOf(history, id)?.object?.status === "canceled" ? [{ id, n, what: "it is canceled" }] : [],
  ),
};

/**
 * Whether a cancel is possible. A call of the OpenAI convention is cancelled when its caller is cut off,
 * unless it has a key.
 */
const mayBeCanceled = ({ call, cancels }: MadeCall): boolean =>
  cancels.length > 0 ||
  call.cancelAfter !== undefined ||
  cancellingWait(call).length > 0 ||
  (["chat", "response", "embedding"].includes(call.work.kind) && !call.parallel);
