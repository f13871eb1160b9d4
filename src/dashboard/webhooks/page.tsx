/** `/account/webhooks/:id`: one endpoint, with its test, settings and secrets. */
import type { WebhookEndpoint, WebhookTest } from "../../protocol/webhook.ts";
import type { Draft } from "../form.ts";
import { Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Above, Time } from "../ui/parts.tsx";
import { deliveriesAddress } from "./delivery-filters.ts";
import { EndpointFields } from "./fields.tsx";
import { LIST } from "./list.tsx";
import { type NewSecret, SecretCreated } from "./secret.tsx";
import { Secrets } from "./secrets.tsx";
import { EndpointStatus, EndpointTrouble } from "./state.tsx";
import { TestResult } from "./test-result.tsx";

export interface EndpointPageProps {
  endpoint: WebhookEndpoint;
  test?: WebhookTest | undefined;
  created?: NewSecret | undefined;
  draft: Draft;
}

export function EndpointPage({ endpoint, test, created, draft }: EndpointPageProps) {
  const { url, description, enabled, created_at } = endpoint;
  const address = `${LIST}/${endpoint.id}`;
  return (
    <>
      <Above places={[[LIST, "Webhooks"]]} />
      <h1 class="endpoint-url">
        <bdi>{url}</bdi>
      </h1>
      <p class="hint">
        <EndpointStatus endpoint={endpoint} />
        {description !== "" && (
          <>
            {" · "}
            <bdi>{description}</bdi>
          </>
        )}
        {" · created "}
        <Time at={created_at} />
        {" · "}
        <a href={deliveriesAddress({ which: "", to: endpoint.id })}>Deliveries</a>
      </p>
      <EndpointTrouble endpoint={endpoint} />
      {created && <SecretCreated created={created} />}
      <div class="actions">
        <Form action={`${address}/test`}>
          <button type="submit" class="quiet">
            Send a test
          </button>
        </Form>
        <Form action={`${address}/${enabled ? "disable" : "enable"}`}>
          <button type="submit" class={enabled ? "quiet" : "primary"}>
            {enabled ? "Disable" : "Enable"}
          </button>
        </Form>
      </div>
      {test && <TestResult test={test} />}
      <Settings endpoint={endpoint} draft={draft} />
      <Secrets endpoint={endpoint} />
      <h2>Delete</h2>
      <p class="hint">
        Nothing is sent to it any more, and its waiting deliveries are abandoned. To pause it,
        disable it instead.
      </p>
      <Form
        action={`${address}/delete`}
        data-confirm="Delete this endpoint? Its waiting deliveries are abandoned."
      >
        <Submit kind="danger">Delete endpoint</Submit>
      </Form>
    </>
  );
}

const Settings = ({ endpoint, draft }: Pick<EndpointPageProps, "endpoint" | "draft">) => (
  <>
    <h2>Settings</h2>
    <Form action={`${LIST}/${endpoint.id}`} class="narrow">
      <EndpointFields values={endpoint} draft={draft} />
      <p class="hint">Changes apply within 10 seconds.</p>
      <Submit kind="quiet">Save</Submit>
    </Form>
  </>
);
