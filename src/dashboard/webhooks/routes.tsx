/** `/account/webhooks`: the webhook endpoints of an account. */
import { limitRate } from "../../middleware/rate-limit.ts";
import { uuid } from "../../protocol/common.ts";
import {
  createWebhookEndpoint,
  updateWebhookEndpoint,
  type WebhookEndpoint,
  type WebhookTest,
} from "../../protocol/webhook.ts";
import { parse } from "../../routes/router.ts";
import {
  createEndpoint,
  createSecret,
  deleteEndpoint,
  deleteSecret,
  endpointNotFound,
  listEndpoints,
  MAX_ENDPOINTS,
  MAX_SECRETS,
  readEndpoint,
  updateEndpoint,
} from "../../services/webhooks/endpoints.ts";
import { testEndpoint } from "../../services/webhooks/test-delivery.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import { type Draft, emptyDraft, handleForm } from "../form.ts";
import { Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Above, Time } from "../ui/parts.tsx";
import { deliveriesAddress } from "./deliveries-page.tsx";
import {
  EndpointFields,
  EndpointStatus,
  EndpointsPage,
  type EndpointsPageProps,
  EndpointTrouble,
  LIST,
  type NewSecret,
  readEndpointForm,
  SecretCreated,
} from "./endpoints.tsx";

interface EndpointPageProps {
  endpoint: WebhookEndpoint;
  test?: WebhookTest | undefined;
  created?: NewSecret | undefined;
  draft: Draft;
}

function EndpointPage({ endpoint, test, created, draft }: EndpointPageProps) {
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
      <div class="flow actions">
        <Form action={`${address}/test`}>
          <Submit kind="quiet">Send test event</Submit>
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
        Deleting stops deliveries and discards pending retries. To pause it, disable it instead.
      </p>
      <Form
        action={`${address}/delete`}
        data-confirm="Delete this endpoint? Pending retries are discarded."
      >
        <Submit kind="danger">Delete endpoint</Submit>
      </Form>
    </>
  );
}

const Settings = ({ endpoint, draft }: Pick<EndpointPageProps, "endpoint" | "draft">) => (
  <>
    <h2>Settings</h2>
    <Form action={`${LIST}/${endpoint.id}`} class="narrow" draft={draft}>
      <EndpointFields values={endpoint} />
      <p class="hint">Changes apply within 10 seconds.</p>
      <Submit kind="quiet">Save</Submit>
    </Form>
  </>
);

const TestResult = ({ test }: { test: WebhookTest }) => (
  <section class="test-result" aria-labelledby="test-title">
    <h2 id="test-title">Test</h2>
    <p role="status">
      {test.delivered ? (
        <span class="status succeeded">{`delivered: ${test.status}`}</span>
      ) : (
        <span class="status failed">{`failed: ${test.status ?? "no response"}`}</span>
      )}
      {` after ${test.duration_ms ?? 0} ms`}
      {test.error !== null && (
        <>
          : <bdi>{test.error}</bdi>
        </>
      )}
      .
    </p>
    {test.response !== null && (
      <pre class="response" tabindex={0}>
        <bdi>{test.response}</bdi>
      </pre>
    )}
  </section>
);

function Secrets({ endpoint: { id, secrets } }: { endpoint: WebhookEndpoint }) {
  const address = `${LIST}/${id}/secrets`;
  return (
    <>
      <h2>Secrets</h2>
      <p>To rotate the secret without losing deliveries:</p>
      <ol>
        <li>Create a new secret. Both secrets sign each delivery from then on.</li>
        <li>Add it to your receiver.</li>
        <li>Delete the old one.</li>
      </ol>
      <ul class="rows">
        {secrets.map((secret, n) => (
          <li>
            <div>
              {secrets.length > 1 && `Secret ${n + 1}, `}
              {secrets.length > 1 ? "created" : "Created"} <Time at={secret.created_at} />
            </div>
            {secrets.length > 1 && (
              <Form
                action={`${address}/${secret.id}/delete`}
                data-confirm="Delete this secret? Receivers that use only this secret will reject deliveries."
              >
                <Submit kind="danger">{`Delete secret ${n + 1}`}</Submit>
              </Form>
            )}
          </li>
        ))}
      </ul>
      {secrets.length < MAX_SECRETS ? (
        <Form action={address}>
          <Submit kind="quiet">Create a new secret</Submit>
        </Form>
      ) : (
        <p class="hint">{`An endpoint can have ${MAX_SECRETS} secrets. Delete one that its receiver no longer uses.`}</p>
      )}
    </>
  );
}

const ONE = `${LIST}/:id`;

export const webhookPages = pages()
  .get(LIST, requireUser, (c) => showList(c))
  .post(LIST, requireUser, async (c) => {
    const { services } = c.var;
    const { done, draft } = await handleForm(c, (form) =>
      createEndpoint(
        services,
        viewerOf(c).caller,
        parse(createWebhookEndpoint, readEndpointForm(form), "body"),
      ),
    );
    if (draft) return showList(c, { draft });
    // The secret is only in this response, which is never cached.
    const { row, secret } = done;
    return showList(c, { created: { id: row.id, url: row.url, secret, origin: c.var.origin } });
  })
  .get(ONE, requireUser, (c) => show(c))
  .post(ONE, requireUser, async (c) => {
    const { draft } = await handleForm(c, (form) =>
      updateEndpoint(
        c.var.services,
        viewerOf(c).caller,
        idIn(c),
        parse(updateWebhookEndpoint, readEndpointForm(form), "body"),
      ),
    );
    if (!draft) return back(c, "Saved. Changes apply within 10 seconds.");
    return show(c, { draft });
  })
  .post(`${ONE}/test`, requireUser, async (c) => {
    const { services, origin } = c.var;
    const { caller } = viewerOf(c);
    await limitRate(c, "predictions", caller.user_id);
    return show(c, { test: await testEndpoint(services, caller, idIn(c), origin) });
  })
  .post(`${ONE}/enable`, requireUser, async (c) => {
    await updateEndpoint(c.var.services, viewerOf(c).caller, idIn(c), { enabled: true });
    return back(c, "Enabled. It receives events within 10 seconds.");
  })
  .post(`${ONE}/disable`, requireUser, async (c) => {
    await updateEndpoint(c.var.services, viewerOf(c).caller, idIn(c), { enabled: false });
    return back(c, "Disabled. It may still receive events for up to 10 seconds.");
  })
  .post(`${ONE}/secrets`, requireUser, async (c) => {
    const { services } = c.var;
    const { caller } = viewerOf(c);
    const { secret } = await createSecret(services, caller, idIn(c));
    const { url } = await readEndpoint(services, caller, idIn(c));
    return show(c, { created: { url, secret, origin: c.var.origin } });
  })
  .post(`${ONE}/secrets/:secret/delete`, requireUser, async (c) => {
    await deleteSecret(c.var.services, viewerOf(c).caller, idIn(c), c.req.param("secret"));
    return back(c, "Secret deleted. Deliveries stop using it within 10 seconds.");
  })
  .post(`${ONE}/delete`, requireUser, async (c) => {
    await deleteEndpoint(c.var.services, viewerOf(c).caller, idIn(c));
    return redirectWithFlash(c, "Endpoint deleted.", LIST);
  });

async function showList(
  c: PageContext,
  { created, draft = emptyDraft }: Partial<Pick<EndpointsPageProps, "created" | "draft">> = {},
) {
  const request = { cursor: undefined, size: MAX_ENDPOINTS, url: c.req.url };
  const { items } = await listEndpoints(c.var.services, viewerOf(c).caller, request);
  return c.render(
    <EndpointsPage endpoints={items} most={MAX_ENDPOINTS} created={created} draft={draft} />,
    { title: "Webhooks" },
  );
}

async function show(
  c: PageContext,
  { draft = emptyDraft, ...rest }: Partial<Omit<EndpointPageProps, "endpoint">> = {},
) {
  const { services } = c.var;
  const row = await readEndpoint(services, viewerOf(c).caller, idIn(c));
  const endpoint = services.present.webhookEndpoint(row);
  // A path may be a secret, and titles are kept in the history of browsers.
  const host = `${new URL(endpoint.url).host} (…${endpoint.id.slice(-4)})`;
  return c.render(<EndpointPage endpoint={endpoint} draft={draft} {...rest} />, {
    title: `Webhooks to ${endpoint.description || host}`,
  });
}

const back = (c: PageContext, message: string) =>
  redirectWithFlash(c, message, `${LIST}/${idIn(c)}`);

/** @throws ProblemError not_found */
function idIn(c: PageContext): string {
  const id = c.req.param("id") ?? "";
  if (!uuid.safeParse(id).success) throw endpointNotFound(id);
  return id;
}
