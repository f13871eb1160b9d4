/** What a deployment says that refused a call or was not reached, in words for whoever ran a command. */
import { problem, validationError } from "../protocol/common.ts";

/** The detail of an error's body; undefined if the body is none of ours. */
export function detailOf(text: string): string | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  const issues = validationError.safeParse(body).data?.detail;
  return issues
    ? issues.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ")
    : problem.safeParse(body).data?.detail;
}

/** fetch itself says only that it failed. */
export function messageOf(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  if (!(error instanceof TypeError && cause instanceof Error)) return message;
  return `The deployment was not reached: ${cause.message}. Check its address and your network.`;
}
