/** The form of an endpoint, as a request of the API. */
import { DEFAULT_EVENTS, type WebhookEventName } from "../../protocol/webhook.ts";
import { fieldText, fieldTexts } from "../form.ts";

export const EVENTS: { value: WebhookEventName; label: string; hint: string }[] = [
  { value: "started", label: "started", hint: "A runner has started the prediction." },
  { value: "output", label: "output", hint: "There is more output; at most every 500 ms." },
  {
    value: "completed",
    label: "completed",
    hint: "The prediction has succeeded, failed or been canceled.",
  },
];

export const CHOSEN_EVENTS = DEFAULT_EVENTS;

/** Returns the request, to be validated with the API's schema. */
export const readEndpointForm = (form: FormData) => ({
  url: fieldText(form, "url").trim(),
  description: fieldText(form, "description").trim(),
  events: fieldTexts(form, "events"),
});
