/** `/account/webhooks`: the receivers of the events of all one's predictions. */
import type { WebhookEndpoint } from "../../protocol/webhook.ts";
import { AccountTabs } from "../account/tabs.tsx";
import type { Draft } from "../form.ts";
import { Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Empty } from "../ui/parts.tsx";
import { EndpointFields } from "./fields.tsx";
import { CHOSEN_EVENTS } from "./form.ts";
import { type NewSecret, SecretCreated } from "./secret.tsx";
import { EndpointStatus, EndpointTrouble } from "./state.tsx";
import { WebhookUrl } from "./url.tsx";

export const LIST = "/account/webhooks";

export interface EndpointsPageProps {
  endpoints: WebhookEndpoint[];
  /** The most endpoints of an account. */
  most: number;
  created: (NewSecret & { id: string }) | undefined;
  draft: Draft;
}

export const EndpointsPage = ({ endpoints, most, created, draft }: EndpointsPageProps) => (
  <>
    <h1>Webhooks</h1>
    <AccountTabs current={LIST} />
    <h2>Endpoints</h2>
    <p class="hint">
      An endpoint is told what happens to all your predictions, so that your programs need not poll.{" "}
      <a href="/docs/webhooks">How webhooks work</a>
      {" · "}
      <a href={`${LIST}/deliveries`}>Deliveries</a>
    </p>
    {created && <SecretCreated created={created} />}
    {created && (
      <p class="flow actions">
        <a class="button quiet" href={`${LIST}/${created.id}`}>
          Open it, and send a test
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
        class="new-token"
        open={draft.values !== undefined || (endpoints.length === 0 && !created)}
      >
        <summary class="button primary" hidden={endpoints.length === 0 && !created}>
          New endpoint
        </summary>
        <Form action={LIST} class="narrow" id="new-endpoint">
          <EndpointFields
            values={{ url: "", description: "", events: CHOSEN_EVENTS }}
            draft={draft}
          />
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
      Create one below, and it receives a request like this whenever a prediction starts or ends. To
      be told of a single prediction, send <code>webhook</code> with it instead.
    </p>
    <pre class="box example">
      <code>{BODY}</code>
    </pre>
  </Empty>
);
