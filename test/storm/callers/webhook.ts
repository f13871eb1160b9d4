/** The webhook of a call, which its receiver verifies. */
import { createHash } from "node:crypto";
import type { Webhook } from "../../../src/protocol/webhook.ts";
import type { MadeCall } from "../history.ts";
import type { Ground } from "./ground.ts";

export const pathOf = ({ call }: Pick<MadeCall, "call">) => `/${call.n}`;

export function webhookOf(ground: Ground, made: MadeCall): { webhook?: Webhook } {
  const { call } = made;
  if (!call.webhook) return {};
  const key = createHash("sha256").update(`secret of ${call.mark}`).digest();
  made.secret =
    call.webhook.secret === "standard" ? `whsec_${key.toString("base64")}` : key.toString("hex");
  ground.scriptReceiver(pathOf(made), call);
  return {
    webhook: {
      url: ground.receiverUrl + pathOf(made),
      secret: made.secret,
      events: call.webhook.output ? ["started", "output", "completed"] : ["started", "completed"],
    },
  };
}
