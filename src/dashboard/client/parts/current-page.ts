/** Loads the page again, for pages that keep themselves up to date; shows a notice while that fails. */

import { type Backoff, backoffMs } from "../../../lib/retry.ts";

export const SIGNED_OUT = "You are logged out. Log in, then reload the page.";
const GONE = "This no longer exists.";
export const RECONNECTING = "Connection lost. Reconnecting…";

/** Time limit of a request: a network that drops everything would let it wait for minutes. */
const ANSWER_MS = 10_000;
/** A single request that fails, as during a deploy, shows no notice. */
const NOTICED_FAILURES = 2;
/** Rests after failures are short: the reader waits for the service to come back. */
const FAILED: Backoff = { baseMs: 2_000, maxMs: 10_000 };
/** Requests go on after a logout: the user may log in again in another tab. */
const REFUSED: Backoff = { baseMs: 2_000, maxMs: 60_000 };

let failures = 0;
let restsUntil = 0;

// A reader who comes back to a tab does not wait for the rest to end.
document.addEventListener("visibilitychange", () => {
  restsUntil = 0;
});

/** Returns undefined when the page cannot be loaded, or when it is too early for another request. */
export async function loadCurrentPage(): Promise<Document | undefined> {
  if (performance.now() < restsUntil) return undefined;
  const answer = await ask();
  if (typeof answer !== "string") return answer;
  failures += 1;
  const isRefused = answer !== RECONNECTING;
  if (isRefused || failures >= NOTICED_FAILURES) notice(answer);
  restsUntil = performance.now() + backoffMs(failures, isRefused ? REFUSED : FAILED);
  return undefined;
}

/**
 * Loads the page again and again while the tab is visible.
 * @param rest ms until the next load; undefined: not until the page has changed
 * @param update may return true, to load the page at once
 */
export function keepCurrent(
  rest: () => number | undefined,
  update: (page: Document) => unknown,
): void {
  let timer: number | undefined;
  const schedule = () => {
    clearTimeout(timer);
    const ms = document.hidden ? undefined : rest();
    if (ms !== undefined) timer = window.setTimeout(refresh, ms);
  };
  const refresh = async (): Promise<void> => {
    clearTimeout(timer);
    const page = await loadCurrentPage();
    if (page && (await update(page)) === true) return refresh();
    schedule();
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) clearTimeout(timer);
    else if (rest() !== undefined) void refresh();
  });
  schedule();
}

/** @returns the page, or a text that says why it cannot be loaded */
async function ask(): Promise<Document | string> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const response = await fetch(location.href, { signal, redirect: "manual" });
    if (response.type === "opaqueredirect" || response.status === 401) return SIGNED_OUT;
    if (response.status === 404) return GONE;
    if (!response.ok) return RECONNECTING;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    // Visitors see some pages, too, so a missing user means that the session has ended.
    const [user, now] = [userOf(document), userOf(page)];
    if (user !== undefined && now === undefined) return SIGNED_OUT;
    if (user !== now && user !== undefined)
      return `You are logged in as ${now} now. Reload the page.`;
    failures = 0;
    notice(undefined);
    return page;
  } catch {
    return RECONNECTING;
  }
}

/** Returns the user of a page; undefined for a visitor. */
export const userOf = (page: Document) =>
  page.querySelector<HTMLElement>(".menu[data-user]")?.dataset.user;

/** @param text undefined: all is well again */
export function notice(text: string | undefined): void {
  const old = document.querySelector("[data-connection]");
  if (text === undefined) return old?.remove();
  if (old?.textContent === text) return;
  old?.remove();
  const line = document.createElement("p");
  line.className = "flash warning";
  line.role = "status";
  line.dataset.connection = "";
  line.textContent = text;
  document.querySelector("main")?.prepend(line);
}
