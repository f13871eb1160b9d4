/** A cancel that was accepted is what the prediction ends with. */
import { isFinal } from "../state.ts";
import { type Breach, eachOf, endOf, type StormPromise } from "./promise.ts";

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
