/** Whether a webhook may be registered. */
import { invalid } from "../domain/validation.ts";
import type { Webhook } from "../protocol/prediction.ts";
import type { Services } from "./services.ts";

/** @throws ValidationFailure */
export function checkWebhook({ settings }: Services, { url }: Webhook): void {
  if (settings.webhookAllowInsecure || new URL(url).protocol === "https:") return;
  throw invalid(["body", "webhook", "url"], "a webhook needs an https address", "url_scheme");
}
