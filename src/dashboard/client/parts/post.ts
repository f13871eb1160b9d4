/** Requests of client code to the dashboard's own routes. */
import { exactText } from "../../../lib/exact-json.ts";
import { userOf } from "./current-page.ts";

/** Time limit of a request: a network that drops everything would keep a button waiting for minutes. */
const ANSWER_MS = 30_000;
/** Minimum speed of a body with a picture, which may take as long as 16 KB/s need. */
const SLOWEST_BYTES_PER_MS = 16;
const NO_ANSWER =
  "No response from Auspex. The request may have gone through: check in another tab before you try again.";

class Mismatch extends Error {}

/**
 * Posts JSON with the session's form token.
 * @returns the response, which is a success
 * @throws Error whose message can be shown
 */
export async function post(url: string, body?: object, signal?: AbortSignal): Promise<Response> {
  const text = body === undefined ? undefined : exactText(body);
  const patience = AbortSignal.timeout(ANSWER_MS + (text?.length ?? 0) / SLOWEST_BYTES_PER_MS);
  const send = (token: string) =>
    fetch(url, {
      method: "POST",
      headers: {
        accept: "application/json",
        "x-form-token": token,
        ...(text !== undefined && { "content-type": "application/json" }),
      },
      ...(text !== undefined && { body: text }),
      signal: signal ? AbortSignal.any([signal, patience]) : patience,
    });
  let response: Response;
  try {
    response = await send(tokenIn(document));
    // After logging in again in another tab, the form token of this page is stale.
    if (response.status === 403 && (await renewToken())) response = await send(tokenIn(document));
  } catch (error) {
    if (signal?.aborted) throw error;
    if (error instanceof Mismatch) throw error;
    if (patience.aborted) throw new Error(NO_ANSWER);
    throw new Error("Cannot reach Auspex. Check your connection and try again.");
  }
  if (response.ok) return response;
  throw new Error(messageIn(await response.json().catch(() => undefined)));
}

const tokenMeta = (page: Document) =>
  page.querySelector<HTMLMetaElement>('meta[name="form-token"]');

const tokenIn = (page: Document) => tokenMeta(page)?.content ?? "";

/** @returns whether the token has changed. @throws Error whose message can be shown */
async function renewToken(): Promise<boolean> {
  const text = await (await fetch(location.href)).text();
  const page = new DOMParser().parseFromString(text, "text/html");
  const token = tokenIn(page);
  const mine = tokenMeta(document);
  const [user, now] = [userOf(document), userOf(page)];
  if (now && user && now !== user)
    throw new Mismatch(`You are logged in as ${now} now. Reload the page to continue as ${now}.`);
  if (!mine || token === "" || token === mine.content) return false;
  mine.content = token;
  return true;
}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** Problem details have a text as `detail`, validation errors a list; better-auth has `message`. */
function messageIn(body: unknown): string {
  if (typeof body === "object" && body !== null) {
    if ("detail" in body) {
      const { detail } = body;
      if (typeof detail === "string") return detail;
      if (Array.isArray(detail)) return detail.map(issueText).join(". ");
    }
    if ("message" in body && typeof body.message === "string") return body.message;
  }
  return "Something went wrong. Reload the page and try again.";
}

function issueText(issue: unknown): string {
  if (typeof issue !== "object" || issue === null || !("msg" in issue)) return String(issue);
  const field = "loc" in issue && Array.isArray(issue.loc) ? issue.loc.slice(1).join(".") : "";
  return field ? `${field}: ${issue.msg}` : String(issue.msg);
}
