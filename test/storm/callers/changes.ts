/** Changes that end the access of callers: a removal, a demotion, and the end of a share. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client, Call as Request } from "../../../src/dev/client.ts";
import type { AccessChange } from "../history.ts";
import type { Call } from "../plan/calls.ts";
import { type ChangePlan, takes } from "../plan/changes.ts";
import { type Caller, PRIVATE } from "../plan/teams.ts";
import { type Ground, longerEachTime, pause } from "./ground.ts";

const TIMEOUT_MS = 10_000;
const RETRY_MS = 200;

const REQUESTS: Record<
  AccessChange["what"],
  { by: Caller; method: string; path: string; body?: object }
> = {
  removal: { by: "ada", method: "DELETE", path: "/organizations/acme/members/cyd" },
  demotion: {
    by: "ada",
    method: "PUT",
    path: "/organizations/acme/members/bob",
    body: { role: "member" },
  },
  unshare: {
    by: "ada@acme",
    method: "DELETE",
    path: `/models/acme/${PRIVATE.acme}/collaborators/zeta`,
  },
};

export async function changeAccess(ground: Ground, plans: ChangePlan[]): Promise<void> {
  const began = Date.now();
  await Promise.all(
    plans.map(async ({ what, at }) => {
      await sleep(Math.max(0, began + at - Date.now()));
      const change: AccessChange = { what, doneAt: null };
      ground.recorder.history.changes.push(change);
      const { by, method, path, body } = REQUESTS[what];
      const client = ground.clientOf({ by, overCable: false });
      const delay = longerEachTime(RETRY_MS);
      while (!ground.over.aborted && !(await isDone(client, method, path, body && { body })))
        await pause(ground, delay());
      if (!ground.over.aborted) change.doneAt = Date.now();
      ground.recorder.note(what, { done: change.doneAt !== null });
    }),
  );
}

/** A repeated DELETE is answered with 404 when the first one was carried out and its answer was lost. */
async function isDone(client: Client, method: string, path: string, request: Request = {}) {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await client.fetch(method, path, { ...request, signal }).catch(() => undefined);
  await response?.text().catch(() => "");
  return response?.ok === true || response?.status === 404;
}

/** Whether the access of a call's caller is ending or has ended: refusals are expected. */
export const isLosing = ({ recorder }: Ground, call: Call): boolean =>
  recorder.history.changes.some(({ what }) => takes(what, call.by, call));
