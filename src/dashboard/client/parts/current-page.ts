/** The page as it is now, for pages that keep themselves up to date; says so while it cannot be had. */

export const SIGNED_OUT = "You are signed out. Sign in, then reload the page.";
const GONE = "This is no longer here.";
export const RECONNECTING = "Connection lost. Reconnecting…";

/** On a network that swallows everything a request would wait for minutes. */
const ANSWER_MS = 10_000;
/** One that fails, as in the middle of a deploy, is not worth a notice. */
const NOTICED_FAILURES = 2;

let failures = 0;

/** Undefined when it cannot be had, which a later call may have more luck with. */
export async function loadCurrentPage(): Promise<Document | undefined> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const response = await fetch(location.href, { signal });
    if (response.redirected || response.status === 401) return void notice(SIGNED_OUT);
    if (response.status === 404) return void notice(GONE);
    if (response.ok) {
      const text = await response.text();
      failures = 0;
      notice(undefined);
      return new DOMParser().parseFromString(text, "text/html");
    }
  } catch {
    // No answer: counted like one that is an error.
  }
  failures += 1;
  if (failures >= NOTICED_FAILURES) notice(RECONNECTING);
  return undefined;
}

function notice(text: string | undefined): void {
  const old = document.querySelector("[data-connection]");
  if (text === undefined) return old?.remove();
  if (old?.textContent === text) return;
  old?.remove();
  const place = document.createElement("p");
  place.className = "flash warning";
  place.role = "status";
  place.dataset.connection = "";
  place.textContent = text;
  document.querySelector("main")?.prepend(place);
}
