/** Whether a webhook may be registered. */
import { invalid } from "../domain/validation.ts";
import { refusalOf } from "../domain/webhook/address.ts";
import type { Webhook } from "../protocol/webhook.ts";
import type { Services } from "./services.ts";

/** @throws ValidationFailure */
export function checkWebhook({ settings }: Services, { url }: Webhook): void {
  const refusal = refusalOf(new URL(url), settings.webhooks.allowInsecure);
  if (refusal) throw invalid(["body", "webhook", "url"], refusal, "value_error", url);
}
