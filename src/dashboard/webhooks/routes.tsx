/** `/account/webhooks`: the webhook endpoints of an account. */
import { limitRate } from "../../middleware/rate-limit.ts";
import { uuid } from "../../protocol/common.ts";
import { createWebhookEndpoint, updateWebhookEndpoint } from "../../protocol/webhook.ts";
import { parse } from "../../routes/router.ts";
import {
  createEndpoint,
  createSecret,
  deleteEndpoint,
  deleteSecret,
  endpointNotFound,
  listEndpoints,
  MAX_ENDPOINTS,
  readEndpoint,
  updateEndpoint,
} from "../../services/webhooks/endpoints.ts";
import { testEndpoint } from "../../services/webhooks/test-delivery.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { redirectWithFlash } from "../flash.ts";
import { emptyDraft, handleForm } from "../form.ts";
import { readEndpointForm } from "./form.ts";
import { EndpointsPage, type EndpointsPageProps, LIST } from "./list.tsx";
import { EndpointPage, type EndpointPageProps } from "./page.tsx";

const ONE = `${LIST}/:id`;

export const webhookPages = pages()
  .get(LIST, requireUser, (c) => showList(c))
  .post(LIST, requireUser, async (c) => {
    const { services } = c.var;
    const { done, draft, status } = await handleForm(c, (form) =>
      createEndpoint(
        services,
        viewerOf(c).caller,
        parse(createWebhookEndpoint, readEndpointForm(form), "body"),
      ),
    );
    if (draft) {
      c.status(status);
      return showList(c, { draft });
    }
    // Only in this response, which is never cached.
    const { row, secret } = done;
    return showList(c, { created: { id: row.id, url: row.url, secret, origin: c.var.origin } });
  })
  .get(ONE, requireUser, (c) => show(c))
  .post(ONE, requireUser, async (c) => {
    const { draft, status } = await handleForm(c, (form) =>
      updateEndpoint(
        c.var.services,
        viewerOf(c).caller,
        idIn(c),
        parse(updateWebhookEndpoint, readEndpointForm(form), "body"),
      ),
    );
    if (!draft) return back(c, "Saved. It applies within 10 seconds.");
    c.status(status);
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
    return back(c, "Secret deleted. Within 10 seconds, nothing is signed with it.");
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
  { draft = emptyDraft, ...told }: Partial<Omit<EndpointPageProps, "endpoint">> = {},
) {
  const { services } = c.var;
  const row = await readEndpoint(services, viewerOf(c).caller, idIn(c));
  const endpoint = services.present.webhookEndpoint(row);
  // A path may be a secret, and titles are kept in the history of browsers.
  const place = `${new URL(endpoint.url).host} (…${endpoint.id.slice(-4)})`;
  return c.render(<EndpointPage endpoint={endpoint} draft={draft} {...told} />, {
    title: `Webhooks to ${endpoint.description || place}`,
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
