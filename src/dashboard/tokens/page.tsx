/** Access tokens: scopes, expiry and last use of each. */
import type { Token } from "../../protocol/operator.ts";
import type { Page } from "../../services/pagination.ts";
import type { Draft } from "../form.ts";
import { Form } from "../ui/layout.tsx";
import { Empty, Pager, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { type CreatedToken, NewToken, TokenCreated } from "./new-token.tsx";

export const TokensPage = ({
  draft,
  created,
  page,
  models,
  now,
}: {
  draft: Draft;
  created: CreatedToken | undefined;
  page: Page<Token>;
  /** Your own, as `owner/name`. */
  models: string[];
  now: number;
}) => (
  <>
    <h1>Access tokens</h1>
    <p>
      Programs use access tokens to call Auspex as you. Give each program its own, so that you can
      revoke one without affecting the others.
    </p>
    {created && <TokenCreated created={created} />}
    <details class="new-token" open={draft.values !== undefined || page.items.length === 0}>
      <summary class="button primary" hidden={page.items.length === 0}>
        New token
      </summary>
      <NewToken draft={draft} models={models} />
    </details>
    {page.items.length === 0 ? (
      <Empty title="No tokens yet">
        <p>Create one above, then paste the command shown with it into a terminal.</p>
      </Empty>
    ) : (
      <List tokens={page.items} now={now} />
    )}
    <Pager previous={page.previous_url} next={page.next_url} />
  </>
);

const List = ({ tokens, now }: { tokens: Token[]; now: number }) => (
  <div class="scroll">
    <Table
      class="tokens stacked"
      columns={[
        "Name",
        "Scopes",
        "Last used",
        "Expires",
        "Created",
        { name: "Actions", is: "hidden" },
      ]}
    >
      {tokens.map((token) => (
        <Row token={token} now={now} />
      ))}
    </Table>
  </div>
);

const Row = ({ token, now }: { token: Token; now: number }) => (
  <tr>
    <th scope="row">
      <bdi>{token.name}</bdi> <small>{token.prefix}…</small>
    </th>
    <td data-label="Scopes">
      {token.scopes.join(", ")}
      {token.models && <OnlyModels models={token.models} />}
      {token.priority && <small>priority {token.priority}</small>}
    </td>
    <td data-label="Last used">
      {token.last_used_at === null ? "never" : <Time at={token.last_used_at} />}
    </td>
    <td data-label="Expires">
      {token.expires_at === null ? "never" : <Time at={token.expires_at} />}
      {token.expires_at !== null && Date.parse(token.expires_at) <= now && (
        <>
          {" "}
          <span class="status warning">expired</span>
        </>
      )}
    </td>
    <td data-label="Created">
      <Time at={token.created_at} />
    </td>
    <td class="end">
      <Form
        action={`/tokens/${token.id}/revoke`}
        data-confirm={`Revoke ${token.name}? Programs that use it are refused within 10 seconds.`}
      >
        <button type="submit" class="danger" aria-label={`Revoke ${token.name}`}>
          Revoke
        </button>
      </Form>
    </td>
  </tr>
);

/** More models than this are collapsed. */
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
