/** Logging in with a browser, on this machine or on another: the device authorization grant (RFC 8628). */
import { hostname } from "node:os";
import { z } from "zod";
import { errorFor } from "../../../runner/src/control-plane/json-client.ts";
import { isRetryable } from "../../../runner/src/lib/error.ts";
import type { HttpAnswer } from "../../../runner/src/lib/http-client.ts";
import { parseJson } from "../../lib/json.ts";
import { sleep } from "../../lib/timeout.ts";
import {
  DEVICE_AUTHORIZATION,
  DEVICE_GRANT,
  DEVICE_PAGE,
  deviceAuthorization,
  deviceRefusal,
  deviceToken,
  MAX_DEVICE_NAME,
  OAUTH_TOKEN,
  type RequestDeviceCode,
  type RequestDeviceToken,
} from "../../protocol/device-login.ts";
import { Failure } from "../failure.ts";
import { USER_AGENT } from "../folders.ts";
import { send } from "../service/service.ts";
import type { Session } from "../session.ts";
import { Status } from "../ui/display.ts";
import { safeText } from "../ui/output.ts";
import { opened } from "./open.ts";

/** The time by which RFC 8628 lengthens the interval after each `slow_down`. */
const SLOWER_MS = 5_000;

/**
 * Shows a code, and waits until a person has approved it in a browser.
 * @param opens whether to open the browser of this machine
 * @returns a new access token
 */
export async function logInWithBrowser(
  url: string,
  session: Session,
  opens: boolean,
): Promise<string> {
  const began = performance.now();
  const begun = answerOf(
    deviceAuthorization,
    await post(url, DEVICE_AUTHORIZATION, { client_id: "auspex", device_name: machine() }, session),
  );
  // The page is that of the address which the user has named, whatever the answer says.
  const page = url + DEVICE_PAGE;
  // Also with --quiet: nobody could log in without the code.
  session.stderr.write(safeText(`Open ${page} and enter this code: ${begun.user_code}\n`));
  // Some browsers of terminals end with their last page only.
  if (opens) void opened(page, session.environment);
  const status = new Status(session.display);
  status.set("Waiting for the approval", "");
  try {
    const { device_code, interval, expires_in } = begun;
    const request = { client_id: "auspex", grant_type: DEVICE_GRANT, device_code } as const;
    return await untilApproved(url, request, session, {
      intervalMs: interval * 1_000,
      end: began + expires_in * 1_000,
    });
  } finally {
    status.end();
  }
}

async function untilApproved(
  url: string,
  request: RequestDeviceToken,
  session: Session,
  { intervalMs, end }: { intervalMs: number; end: number },
): Promise<string> {
  for (let waitMs = intervalMs; performance.now() < end; ) {
    await sleep(waitMs, session.signal);
    session.signal.throwIfAborted();
    const answer = await post(url, OAUTH_TOKEN, request, session).catch((error: unknown) => {
      // An answer that was lost may have had the token: the next one then says that the code was used.
      if (!isRetryable(error)) throw error;
      session.onRetry(error, waitMs);
      return undefined;
    });
    if (!answer) continue;
    const refusal = deviceRefusal.safeParse(parseJson(answer.body)).data;
    if (!refusal) return answerOf(deviceToken, answer).access_token;
    switch (refusal.error) {
      case "authorization_pending":
        break;
      case "slow_down":
        waitMs += SLOWER_MS;
        break;
      case "access_denied":
        throw new Failure(refusal.error_description);
      default:
        throw new Failure(`${refusal.error_description} Run auspex login again.`);
    }
  }
  throw new Failure("The code has expired. Run auspex login again.");
}

/** Sends a form, as OAuth has it. @throws ControlPlaneError for a status that a retry may change */
async function post(
  url: string,
  path: string,
  fields: RequestDeviceCode | RequestDeviceToken,
  { signal }: Session,
): Promise<HttpAnswer> {
  const answer = await send(url + path, {
    method: "POST",
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "user-agent": USER_AGENT,
    },
    body: new URLSearchParams(fields).toString(),
    signal,
  });
  if (answer.status !== 200 && answer.status !== 400)
    throw errorFor(answer.status, answer.headers["retry-after"], answer.body);
  return answer;
}

function answerOf<T extends z.ZodType>(
  schema: T,
  { status, headers, body }: HttpAnswer,
): z.output<T> {
  const { success, data, error } = schema.safeParse(parseJson(body));
  if (success) return data;
  if (status !== 200) throw errorFor(status, headers["retry-after"], body);
  throw new Failure(`Unexpected response: ${z.prettifyError(error)}`);
}

/** The name of this machine, as the deployment accepts it. */
const machine = (): string =>
  hostname().slice(0, MAX_DEVICE_NAME).replaceAll(/\p{C}/gu, "").trim() || "a machine";
