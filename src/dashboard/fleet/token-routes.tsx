/** `/fleet/tokens`: runner tokens. */
import { invalid } from "../../domain/schemas/validation.ts";
import type { Hardware } from "../../protocol/hardware.ts";
import {
  createRunnerToken as createRunnerTokenBody,
  type RunnerToken,
} from "../../protocol/operator.ts";
import { parse } from "../../routes/router.ts";
import { createRunnerToken, listRunnerTokens } from "../../services/accounts/tokens.ts";
import type { Page } from "../../services/pagination.ts";
import { groupByPool, listAllHardware } from "../../services/runners/hardware.ts";
import { revokeRunnerToken } from "../../services/runners/revocation.ts";
import { requireOperator, viewerOf } from "../access.ts";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import { type Draft, emptyDraft, fieldText, fieldTexts, handleForm } from "../form.ts";
import { Choices, Submit, TextField } from "../ui/fields.tsx";
import { Form, RevokeForm } from "../ui/layout.tsx";
import { Empty, Pager, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { FleetTabs } from "../ui/tabs.tsx";
import { Install, type NewRunner } from "./install.tsx";

const RunnerTokensPage = ({
  draft,
  created,
  page,
  hardware,
}: {
  draft: Draft;
  created: NewRunner | undefined;
  page: Page<RunnerToken>;
  hardware: Hardware[];
}) => (
  <>
    <FleetTabs current="/fleet/tokens" />
    <p>Runners authenticate with a token. Use one per machine to revoke them separately.</p>
    {created && <Install created={created} />}
    <details class="new-token spaced" open={draft.values !== undefined || page.items.length === 0}>
      <summary class="button primary">New runner token</summary>
      {hardware.length === 0 ? <NoHardware /> : <NewToken draft={draft} hardware={hardware} />}
    </details>
    {page.items.length === 0 ? (
      <Empty title="No runner tokens yet">
        <p>Create a token above to get the install command.</p>
      </Empty>
    ) : (
      <List tokens={page.items} />
    )}
    <Pager previous={page.previous_url} next={page.next_url} />
  </>
);

const NoHardware = () => (
  <p>
    Runners serve a hardware class. <a href="/fleet/hardware">Create a hardware class</a> first.
  </p>
);

const NewToken = ({ draft, hardware }: { draft: Draft; hardware: Hardware[] }) => (
  <Form action="/fleet/tokens" class="narrow" id="new-token" draft={draft}>
    <TextField
      name="name"
      label="Name"
      hint="For example, the machine or rack."
      maxlength={100}
      autocomplete="off"
      required
    />
    {/* Makes the field exist when nothing is selected, so that its error appears beside it. */}
    <Choices
      name="hardware"
      label="Hardware"
      values={hardware.length === 1 ? hardware.map(({ identifier }) => identifier) : []}
      options={hardware.map(({ identifier, name }) => ({
        value: identifier,
        label: identifier,
        ...(name !== identifier && { hint: name }),
      }))}
    />
    <Submit>Create token</Submit>
  </Form>
);

const List = ({ tokens }: { tokens: RunnerToken[] }) => (
  <div class="scroll">
    <Table
      class="tokens stacked"
      columns={["Name", "Hardware", "Last used", "Created", { name: "Actions", is: "hidden" }]}
    >
      {tokens.map(({ id, name, prefix, hardware, last_used_at, created_at }) => (
        <tr>
          <th scope="row">
            <bdi>{name}</bdi> <small class="mono">{prefix}…</small>
          </th>
          <td data-label="Hardware">{hardware.join(", ")}</td>
          <td data-label="Last used">
            {last_used_at === null ? "never" : <Time at={last_used_at} />}
          </td>
          <td data-label="Created">
            <Time at={created_at} />
          </td>
          <td class="end">
            <RevokeForm
              action={`/fleet/tokens/${id}/revoke`}
              name={name}
              confirm={`Revoke ${name}? Its runners stop within 10 seconds, and their predictions are retried elsewhere or fail. To let predictions finish, drain the runners first.`}
            />
          </td>
        </tr>
      ))}
    </Table>
  </div>
);

const PAGE_SIZE = 25;

export const runnerTokenPages = pages()
  .get("/fleet/tokens", requireOperator, (c) => show(c, emptyDraft))
  .post("/fleet/tokens", requireOperator, async (c) => {
    const { done: created, draft } = await handleForm(c, async (form) => {
      const hardware = fieldTexts(form, "hardware");
      if (hardware.length === 0)
        throw invalid(["body", "hardware"], "Select at least one hardware class.");
      const values = { name: fieldText(form, "name").trim(), hardware };
      const request = parse(createRunnerTokenBody, values, "body");
      const { token } = await createRunnerToken(c.var.services, request);
      const pools = await groupByPool(c.var.services, request.hardware);
      const { name } = request;
      return { name, token, pools, origin: c.var.origin, runner: c.var.assets.runner };
    });
    if (draft) return show(c, draft);
    return show(c, emptyDraft, created);
  })
  .post("/fleet/tokens/:id/revoke", requireOperator, async (c) => {
    await revokeRunnerToken(c.var.services, c.req.param("id"), viewerOf(c).user.id);
    const message =
      "Token revoked. Its runners stop within 10 seconds, and their predictions are retried elsewhere or fail.";
    return redirectWithFlash(c, message, "/fleet/tokens");
  });

/** @param created a new token, shown only once */
async function show(c: PageContext, draft: Draft, created?: NewRunner) {
  const { services } = c.var;
  const list = { cursor: c.req.query("cursor"), size: PAGE_SIZE, url: c.req.url };
  const [page, hardware] = await Promise.all([
    listRunnerTokens(services, list),
    listAllHardware(services),
  ]);
  return c.render(
    <RunnerTokensPage draft={draft} created={created} page={page} hardware={hardware} />,
    {
      title: "Runner tokens",
    },
  );
}
