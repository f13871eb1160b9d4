/** The fields of an endpoint: in the form that creates one, and in the one that changes it. */
import type { WebhookEventName } from "../../protocol/webhook.ts";
import type { Draft } from "../form.ts";
import { Choices, Problem, TextField } from "../ui/fields.tsx";
import { EVENTS } from "./form.ts";

interface Values {
  url: string;
  description: string;
  events: WebhookEventName[];
}

export const EndpointFields = ({
  values: { url, description, events },
  draft,
}: {
  values: Values;
  draft: Draft;
}) => (
  <>
    <Problem draft={draft} />
    <TextField
      name="url"
      label="URL"
      type="url"
      hint="https, on a public host. Deliveries are posted to it."
      placeholder="https://example.com/hooks/auspex"
      value={url}
      maxlength={2_000}
      autocomplete="off"
      required
      draft={draft}
    />
    <TextField
      name="description"
      label="Description"
      hint="Where it runs, so that you can recognize it later."
      value={description}
      maxlength={200}
      autocomplete="off"
      draft={draft}
    />
    <Choices name="events" label="Events" values={events} options={EVENTS} draft={draft} />
  </>
);
