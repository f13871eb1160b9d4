/** Creates an operator who can sign in to the dashboard, through the form that a person would use. */
import type { Secrets } from "./state.ts";

export const EMAIL = "demo@example.com";

/** Lets the seeded user sign in. Does nothing if they already can. */
export async function signUp(
  url: string,
  username: string,
  { operatorToken, password }: Pick<Secrets, "operatorToken" | "password">,
): Promise<void> {
  const response = await fetch(`${url}/set-up`, {
    method: "POST",
    redirect: "manual",
    headers: { origin: url, accept: "text/html" },
    body: new URLSearchParams({
      operator_token: operatorToken,
      username,
      name: "Demo",
      email: EMAIL,
      password,
    }),
  });
  await response.body?.cancel();
  // 422: the email or the username is taken, by the same user in an earlier start.
  if (response.status !== 303 && response.status !== 422)
    throw new Error(`/set-up answered ${response.status}`);
}
