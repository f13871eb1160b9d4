/** `/tokens`: your access tokens. */
import { createToken as createTokenBody, type Token } from "../../protocol/operator.ts";
import { updateToken } from "../../protocol/token-limits.ts";
import { parse } from "../../routes/router.ts";
import {
  createToken,
  listTokens,
  readOwnToken,
  revokeOwnToken,
  updateOwnToken,
} from "../../services/accounts/tokens.ts";
import { listOwnModels } from "../../services/models/models.ts";
import type { Page } from "../../services/pagination.ts";
import { requireUser, viewerOf } from "../access.ts";
import { BudgetList } from "../budgets/list.tsx";
import { ofToken, readBudgets, type ShownBudgets } from "../budgets/read.ts";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import { type Draft, emptyDraft, handleForm } from "../form.ts";
import { RevokeForm } from "../ui/layout.tsx";
import { Empty, Pager, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { AccountTabs } from "../ui/tabs.tsx";
import { LimitsPage, readLimits, ShownLimits } from "./limits.tsx";
import { type CreatedToken, NewToken, readTokenForm, TokenCreated } from "./new-token.tsx";

const TokensPage = ({
  draft,
  created,
  page,
  models,
  operator,
  budgets,
  now,
}: {
  draft: Draft;
  created: CreatedToken | undefined;
  page: Page<Token>;
  models: string[];
  /** Whether the viewer is an operator. */
  operator: boolean;
  budgets: ShownBudgets;
  now: number;
}) => (
  <>
    <h1>Access tokens</h1>
    <AccountTabs current="/tokens" />
    <p>
      Access tokens let programs call the API as you. Create one per program, so that you can revoke
      it without affecting the others.
    </p>
    {created && <TokenCreated created={created} />}
    <details class="new-token spaced" open={draft.values !== undefined || page.items.length === 0}>
      <summary class="button primary" hidden={page.items.length === 0}>
        New token
      </summary>
      <NewToken draft={draft} models={models} operator={operator} />
    </details>
    {page.items.length === 0 ? (
      <Empty title="No tokens yet">
        <p>Create one above to call the API.</p>
      </Empty>
    ) : (
      <TokenTable tokens={page.items} budgets={budgets} now={now} />
    )}
    <Pager previous={page.previous_url} next={page.next_url} />
  </>
);

/** @param owner another user, of whom operators do not see which models a token is for */
export const TokenTable = ({
  tokens,
  budgets,
  now,
  owner,
}: {
  tokens: Token[];
  budgets?: ShownBudgets;
  now: number;
  owner?: string;
}) => (
  <div class="scroll">
    <Table
      class="tokens stacked"
      aria-label="Access tokens"
      columns={[
        "Name",
        "Scopes",
        "Last used",
        "Expires",
        "Created",
        { name: "Actions", is: "hidden" },
      ]}
    >
      {tokens.map(({ id, name, prefix, scopes, models, priority, limits, ...dates }) => (
        <tr>
          <th scope="row">
            <bdi>{name}</bdi> <small class="mono">{prefix}…</small>
          </th>
          <td data-label="Scopes">
            {scopes.join(", ")}
            {models && !owner && <OnlyModels models={models} />}
            {priority && <small>priority {priority}</small>}
            <ShownLimits limits={limits} />
            {budgets && <BudgetList {...ofToken(budgets, id)} />}
          </td>
          <td data-label="Last used">
            {dates.last_used_at === null ? "never" : <Time at={dates.last_used_at} />}
          </td>
          <td data-label="Expires">
            {dates.expires_at === null ? "never" : <Time at={dates.expires_at} />}
            {dates.expires_at !== null && Date.parse(dates.expires_at) <= now && (
              <>
                {" "}
                <span class="status warning">expired</span>
              </>
            )}
          </td>
          <td data-label="Created">
            <Time at={dates.created_at} />
          </td>
          <td class="end">
            {!owner && <a href={`/tokens/${id}`}>Limits</a>}
            <RevokeForm
              action={owner ? `/users/${owner}/tokens/${id}/revoke` : `/tokens/${id}/revoke`}
              name={name}
              confirm={`Revoke ${name}${owner ? ` of ${owner}` : ""}? It stops working within 10 seconds.`}
            />
          </td>
        </tr>
      ))}
    </Table>
  </div>
);

const MAX_NAMED = 3;

function OnlyModels({ models }: { models: string[] }) {
  if (models.length === 0) return <small>no models: the selected ones were deleted</small>;
  const links = models.map((model, n) => (
    <>
      {n > 0 && ", "}
      <a href={`/models/${model}`}>{model}</a>
    </>
  ));
  if (models.length <= MAX_NAMED) return <small>only {links}</small>;
  return (
    <details>
      <summary>
        <small>only {models.length} models</small>
      </summary>
      <small>{links}</small>
    </details>
  );
}

const PAGE_SIZE = 25;

/** The newest models are offered as checkboxes; others can be typed. */
const MAX_OWN_MODELS = 50;

export const tokenPages = pages()
  .get("/tokens", requireUser, (c) => show(c, emptyDraft))
  .post("/tokens", requireUser, async (c) => {
    const { done: created, draft } = await handleForm(c, async (form) => {
      const request = parse(createTokenBody, readTokenForm(form, Date.now()), "body");
      const { token } = await createToken(c.var.services, viewerOf(c).user.id, request);
      // The public list of models checks a token without `read`, for which /user is forbidden.
      const call = request.scopes.includes("read") ? "user" : "models";
      return { token, name: request.name, url: `${c.var.origin}/v1/${call}` };
    });
    if (draft) return show(c, draft);
    // The token is only in this response, which is never cached (middleware/conditional.ts).
    return show(c, emptyDraft, created);
  })
  .get("/tokens/:id", requireUser, (c) => showLimits(c, emptyDraft))
  .post("/tokens/:id", requireUser, async (c) => {
    const { draft } = await handleForm(c, async (form) => {
      const { limits } = parse(updateToken, { limits: readLimits(form) }, "body");
      await updateOwnToken(c.var.services, viewerOf(c).user.id, c.req.param("id"), limits);
    });
    if (draft) return showLimits(c, draft);
    return redirectWithFlash(c, LIMITS_CHANGED, "/tokens");
  })
  .post("/tokens/:id/revoke", requireUser, async (c) => {
    await revokeOwnToken(c.var.services, viewerOf(c).user.id, c.req.param("id"));
    return redirectWithFlash(c, "Token revoked. It stops working within 10 seconds.", "/tokens");
  });

export const LIMITS_CHANGED = "Limits changed. They take effect within 10 seconds.";

async function showLimits(c: PageContext, draft: Draft) {
  const id = c.req.param("id") ?? "";
  const [token, budgets] = await Promise.all([
    readOwnToken(c.var.services, viewerOf(c).user.id, id),
    readBudgets(c),
  ]);
  return c.render(<LimitsPage {...{ token, budgets, draft }} at="/tokens" />, {
    title: "Limits of a token",
  });
}

async function show(c: PageContext, draft: Draft, created?: CreatedToken) {
  const { services } = c.var;
  const { user, caller, operator } = viewerOf(c);
  const list = { cursor: c.req.query("cursor"), size: PAGE_SIZE, url: c.req.url };
  const [page, own, budgets] = await Promise.all([
    listTokens(services, user.id, list),
    listOwnModels(services, caller, { ...list, cursor: undefined, size: MAX_OWN_MODELS }),
    readBudgets(c),
  ]);
  const models = own.items.map(({ name }) => `${user.username}/${name}`);
  const shown = { draft, created, page, models, operator, budgets };
  const content = <TokensPage {...shown} now={Date.now()} />;
  return c.render(content, { title: "Access tokens" });
}
