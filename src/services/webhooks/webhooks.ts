/** The webhook in a create request: whether its URL is allowed, and how it is stored. */
import type { StoredWebhook } from "../../domain/predictions/state.ts";
import { invalid } from "../../domain/schemas/validation.ts";
import { urlRefusal } from "../../domain/webhooks/address.ts";
import { storedSecret } from "../../domain/webhooks/stored-secret.ts";
import type { Webhook } from "../../protocol/webhook.ts";
import type { Services } from "../services.ts";

/** @throws ValidationFailure */
export function checkWebhook({ settings }: Services, { url }: Webhook): void {
  const refusal = urlRefusal(new URL(url), settings.webhooks.allowInsecure);
  if (refusal) throw invalid(["body", "webhook", "url"], refusal, "value_error", url);
}

/** @param id of the prediction */
export async function storedWebhook(
  { settings }: Services,
  id: string,
  webhook: Webhook | null | undefined,
): Promise<StoredWebhook | null> {
  if (webhook?.secret === undefined) return webhook ?? null;
  return { ...webhook, ...(await storedSecret(settings.secretKeys, id, webhook.secret)) };
}
