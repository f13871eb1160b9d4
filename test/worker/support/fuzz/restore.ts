/** Undoes what would refuse later requests. */
import { env } from "cloudflare:workers";
import { budget } from "../../../../src/protocol/budget.ts";
import type { Sent } from "./tricks.ts";
import type { Received } from "./verdict.ts";

type Ask = (sent: Sent) => Promise<Received>;

/** Restores a suspended user and a draining runner, and lets a hard budget only alert. */
export async function restore(sent: Sent, received: Received | undefined, ask: Ask): Promise<void> {
  if (sent.method === "PUT" && sent.url.includes("/suspension")) await unsuspend(sent, ask);
  if (received?.status === 200 && BUDGETS.test(sent.url)) await ease(sent, received, ask);
  if (sent.url.endsWith("/drain"))
    await ask({ ...sent, url: sent.url.replace(/drain$/, "resume") });
}

const BUDGETS = /^.*\/budgets(?=\/|$)/;

async function ease(sent: Sent, { text }: Received, ask: Ask): Promise<void> {
  const { data: made } = budget.safeParse(JSON.parse(text));
  if (made?.kind !== "hard") return;
  const url = `${BUDGETS.exec(sent.url)?.[0]}/${made.id}`;
  const headers = { ...sent.headers, "content-type": "application/json" };
  await ask({ ...sent, method: "PATCH", url, headers, body: JSON.stringify({ kind: "alert" }) });
}

async function unsuspend(sent: Sent, ask: Ask): Promise<void> {
  const { status } = await ask({ ...sent, method: "DELETE", body: undefined });
  // The user may have another name by now.
  if (status !== 200) await env.DB.prepare("UPDATE users SET suspended_at = NULL").run();
}
