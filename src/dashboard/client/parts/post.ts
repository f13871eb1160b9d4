/** Requests of islands to the dashboard's own routes. */

/**
 * Posts as this session, by its form token.
 * @param body as JSON
 * @returns the answer, which is a success
 * @throws Error whose message can be shown
 */
export async function post(url: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const token = document.querySelector<HTMLMetaElement>('meta[name="form-token"]')?.content ?? "";
  let response: Response;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: {
        accept: "application/json",
        "x-form-token": token,
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Error("Auspex cannot be reached. Look at your connection, then try again.");
  }
  if (response.ok) return response;
  throw new Error(wordsIn(await response.json().catch(() => undefined)));
}

/** Problem details have a text, validation errors a list of them, better-auth a message. */
function wordsIn(body: unknown): string {
  if (typeof body === "object" && body !== null) {
    if ("detail" in body) {
      const { detail } = body;
      if (typeof detail === "string") return detail;
      if (Array.isArray(detail)) return detail.map(issueText).join(". ");
    }
    if ("message" in body && typeof body.message === "string") return body.message;
  }
  return "That did not work. Load the page again, then try once more.";
}

function issueText(issue: unknown): string {
  if (typeof issue !== "object" || issue === null || !("msg" in issue)) return String(issue);
  const place = "loc" in issue && Array.isArray(issue.loc) ? issue.loc.slice(1).join(".") : "";
  return place ? `${place}: ${issue.msg}` : String(issue.msg);
}
