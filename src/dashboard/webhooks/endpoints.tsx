/** `/account/webhooks`: the receivers of the events of all one's predictions. */
import {
  DEFAULT_EVENTS,
  type WebhookEndpoint,
  type WebhookEventName,
} from "../../protocol/webhook.ts";
import { type Draft, fieldText, fieldTexts } from "../form.ts";
import { Choices, Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Copy, Empty, Time } from "../ui/parts.tsx";

export const LIST = "/account/webhooks";

export interface EndpointsPageProps {
  endpoints: WebhookEndpoint[];
  most: number;
  created: (NewSecret & { id: string }) | undefined;
  draft: Draft;
}

export const EndpointsPage = ({ endpoints, most, created, draft }: EndpointsPageProps) => (
  <>
    <h1>Webhooks</h1>
    <h2>Endpoints</h2>
    <p class="hint">
      Receive an event when a prediction starts or finishes.{" "}
      <a href="/docs/webhooks">How webhooks work</a>
      {" · "}
      <a href={`${LIST}/deliveries`}>Deliveries</a>
    </p>
    {created && <SecretCreated created={created} />}
    {created && (
      <p class="flow actions">
        <a class="button quiet" href={`${LIST}/${created.id}`}>
          Send test event
        </a>
      </p>
    )}
    {endpoints.length > 0 && (
      <ul class="rows endpoints">
        {endpoints.map((endpoint) => (
          <Endpoint endpoint={endpoint} />
        ))}
      </ul>
    )}
    {endpoints.length === 0 && <Teach />}
    {endpoints.length < most ? (
      <details
        class="new-token spaced"
        open={draft.values !== undefined || (endpoints.length === 0 && !created)}
      >
        <summary class="button primary" hidden={endpoints.length === 0 && !created}>
          New endpoint
        </summary>
        <Form action={LIST} class="narrow" id="new-endpoint" draft={draft}>
          <EndpointFields values={{ url: "", description: "", events: CHOSEN_EVENTS }} />
          <Submit>Create endpoint</Submit>
        </Form>
      </details>
    ) : (
      <p class="hint">{`An account can have ${most} endpoints. Delete one to create another.`}</p>
    )}
  </>
);

const Endpoint = ({ endpoint }: { endpoint: WebhookEndpoint }) => (
  <li>
    <div>
      <a href={`${LIST}/${endpoint.id}`}>
        <WebhookUrl url={endpoint.url} />
      </a>
      <small>
        {endpoint.description !== "" && (
          <>
            <bdi>{endpoint.description}</bdi>
            {" · "}
          </>
        )}
        {endpoint.events.join(", ")}
      </small>
    </div>
    <EndpointStatus endpoint={endpoint} />
    <EndpointTrouble endpoint={endpoint} />
  </li>
);

const BODY = `POST /hooks/auspex
webhook-id: evt_01980c3e-…_7
webhook-signature: v1,K5oZfzN95Z9UVu1E…

{"id": "01980c3e-…", "status": "succeeded", "output": "Hello, you!",
 "webhook": {"event": "completed", "sequence": 7, …}, …}`;

const Teach = () => (
  <Empty title="No endpoints yet">
    <p>
      Create one below to receive a request like this. For one prediction, pass <code>webhook</code>{" "}
      in the request.
    </p>
    <pre class="panel example">
      <code>{BODY}</code>
    </pre>
  </Empty>
);

interface Values {
  url: string;
  description: string;
  events: WebhookEventName[];
}

export const EndpointFields = ({ values: { url, description, events } }: { values: Values }) => (
  <>
    <TextField
      name="url"
      label="URL"
      type="url"
      hint="A public HTTPS URL. Events are sent as POST requests."
      placeholder="https://example.com/hooks/auspex"
      value={url}
      maxlength={2_000}
      autocomplete="off"
      required
    />
    <TextField
      name="description"
      label="Description"
      hint="A label to recognize it by."
      value={description}
      maxlength={200}
      autocomplete="off"
    />
    <Choices name="events" label="Events" values={events} options={EVENTS} />
  </>
);

const EVENTS: { value: WebhookEventName; label: string; hint: string }[] = [
  { value: "started", label: "started", hint: "The prediction started on a runner." },
  { value: "output", label: "output", hint: "New output, at most every 500 ms." },
  {
    value: "completed",
    label: "completed",
    hint: "The prediction succeeded, failed or was canceled.",
  },
  {
    value: "budget.alert",
    label: "budget.alert",
    hint: "A budget reached the share at which it alerts.",
  },
  {
    value: "budget.exhausted",
    label: "budget.exhausted",
    hint: "A budget has less left than another such prediction needs.",
  },
];

const CHOSEN_EVENTS = DEFAULT_EVENTS;

/** Returns the request, to be validated with the API's schema. */
export const readEndpointForm = (form: FormData) => ({
  url: fieldText(form, "url").trim(),
  description: fieldText(form, "description").trim(),
  events: fieldTexts(form, "events"),
});

export interface NewSecret {
  url: string;
  secret: string;
  origin: string;
}

/** Kept as a file: what a deployment serves changes with its version. */
const installText = (origin: string) => `curl -fsSO ${origin}/auspex-webhooks.tgz
npm install ./auspex-webhooks.tgz`;

const EXAMPLE = `import { verifyWebhook } from "auspex-webhooks";

const event = await verifyWebhook(request, process.env.WEBHOOK_SECRET);
console.log(event.webhook.event, event.status, event.output);`;

export const SecretCreated = ({ created: { url, secret, origin } }: { created: NewSecret }) => (
  <section class="panel new-secret" aria-labelledby="created-title">
    <h2 id="created-title">
      Secret for <bdi>{url}</bdi>
    </h2>
    <p>Copy it now. It is used to verify deliveries and will not be shown again.</p>
    <Copy text={secret} label="Copy secret" />
    <p>
      Verify each delivery with it (
      <a href="/docs/webhooks#verify-the-signature">other languages</a>):
    </p>
    <Copy lines label="Copy commands" text={installText(origin)} />
    <Copy lines label="Copy code" text={EXAMPLE} />
  </section>
);

export const EndpointStatus = ({
  endpoint: { enabled, failing_since },
}: {
  endpoint: WebhookEndpoint;
}) => {
  if (!enabled) return <span class="status draining">disabled</span>;
  return failing_since === null ? (
    <span class="status ready">enabled</span>
  ) : (
    <span class="status failed">failing</span>
  );
};

export function EndpointTrouble({ endpoint }: { endpoint: WebhookEndpoint }) {
  const { enabled, failing_since, last_error, notice } = endpoint;
  const error = last_error !== null && (
    <>
      {" Last error: "}
      <bdi>{last_error}</bdi>.
    </>
  );
  // One answer is enough for that.
  if (notice !== null && last_error?.startsWith("responded with status 410"))
    return (
      <p class="trouble">
        Disabled because the receiver responded with 410 Gone. Enable it again, or delete it.
      </p>
    );
  if (notice !== null)
    return (
      <p class="trouble">
        {"Disabled automatically: "}
        {failing_since === null ? (
          "deliveries failed."
        ) : (
          <>
            deliveries have failed since <Time at={failing_since} />.
          </>
        )}
        {error} Enable it again once the receiver works.
      </p>
    );
  if (!enabled)
    return (
      <p class="hint">
        Disabled. No events are sent. Pending deliveries are kept for 24 hours in case you enable it
        again.
      </p>
    );
  if (failing_since === null) return null;
  return (
    <p class="trouble">
      All deliveries have failed since <Time at={failing_since} />.{error} They are retried for 24
      hours.
    </p>
  );
}

/** The URL of a webhook in lists: it has up to 2,048 characters, of which the first identify it. */
export const WebhookUrl = ({ url }: { url: string }) => (
  <bdi class="clamp" title={url}>
    {url}
  </bdi>
);
