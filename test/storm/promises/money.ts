/** Promises about budgets and costs. */
import { eachOf, type StormPromise } from "./promise.ts";

export const limitsHold: StormPromise = {
  name: "what is spent and reserved never exceeds a hard limit",
  check: eachOf(
    ({ budgetLooks }) => budgetLooks,
    ({ account, limit, spent, reserved }) =>
      spent + reserved <= limit
        ? []
        : [{ what: `${account} has spent ${spent} and reserved ${reserved} of ${limit}` }],
  ),
};

export const moneyAddsUp: StormPromise = {
  name: "budget, usage and predictions say the same cost, and nothing stays reserved",
  check: eachOf(
    ({ money }) => money,
    ({ account, spent, reserved, usage, cost }) => [
      ...(reserved === 0 ? [] : [{ what: `${reserved} of ${account} stays reserved` }]),
      ...(spent === cost && usage === cost
        ? []
        : [
            { what: `${account} has spent ${spent}, its usage is ${usage}, its runs cost ${cost}` },
          ]),
    ],
  ),
};
