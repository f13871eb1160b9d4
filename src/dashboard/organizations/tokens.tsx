/** The access tokens of an organization. */
import { hasRole } from "../../domain/accounts/access.ts";
import type { OrganizationToken } from "../../protocol/organization.ts";
import type { Page } from "../../services/pagination.ts";
import { organizationAddress } from "../addresses.ts";
import { BudgetList } from "../budgets/list.tsx";
import { ofToken, type ShownBudgets } from "../budgets/read.ts";
import type { Draft } from "../form.ts";
import { ShownLimits } from "../tokens/limits.tsx";
import { type CreatedToken, NewToken, TokenCreated } from "../tokens/new-token.tsx";
import { Select } from "../ui/fields.tsx";
import { RevokeForm } from "../ui/layout.tsx";
import { Pager, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { AccountTabs } from "../ui/tabs.tsx";
import { type PageProps, roleOptions } from "./pages.tsx";

export const TokensPage = ({
  organization,
  role,
  tokens,
  models,
  created,
  budgets,
  draft,
}: PageProps & {
  tokens: Page<OrganizationToken>;
  models: string[];
  created: CreatedToken | undefined;
  budgets: ShownBudgets;
  draft: Draft;
}) => {
  const at = organizationAddress({ username: organization });
  const isAdmin = hasRole({ role }, "admin");
  return (
    <>
      <h1>Access tokens of {organization}</h1>
      <AccountTabs current="/tokens" />
      <p>
        A token of {organization} runs models at its expense. It has your role, and ends with your
        membership.{" "}
        {isAdmin && "A service token has a role of its own, and stays when its maker leaves."}
      </p>
      {created && <TokenCreated created={created} />}
      <details class="new-token spaced" open={draft.values !== undefined}>
        <summary class="button primary">New token</summary>
        <NewToken action={`${at}/tokens`} draft={draft} models={models}>
          {isAdmin && (
            <Select
              name="service_role"
              label="Acts as"
              value=""
              options={[
                { value: "", label: "You, with your role" },
                ...roleOptions(role).map(({ value, label }) => ({
                  value,
                  label: `Service token, ${label}`,
                })),
              ]}
            />
          )}
        </NewToken>
      </details>
      {tokens.items.length > 0 && <Tokens at={at} tokens={tokens.items} budgets={budgets} />}
      <Pager previous={tokens.previous_url} next={tokens.next_url} />
    </>
  );
};

const Tokens = ({
  at,
  tokens,
  budgets,
}: {
  at: string;
  tokens: OrganizationToken[];
  budgets: ShownBudgets;
}) => (
  <Table
    class="tokens stacked"
    aria-label="Access tokens"
    columns={[
      "Name",
      "Acts for",
      "Scopes",
      "Last used",
      "Expires",
      { name: "Actions", is: "hidden" },
    ]}
  >
    {tokens.map(({ id, name, prefix, scopes, limits, service_role, made_by, ...dates }) => (
      <tr>
        <th scope="row">
          <bdi>{name}</bdi> <small class="mono">{prefix}…</small>
        </th>
        <td data-label="Acts for">
          {service_role === null ? made_by : `Service token: ${service_role}`}
          {service_role !== null && made_by && <small>made by {made_by}</small>}
        </td>
        <td data-label="Scopes">
          {scopes.join(", ")}
          <ShownLimits limits={limits} />
          <BudgetList {...ofToken(budgets, id)} />
        </td>
        <td data-label="Last used">
          {dates.last_used_at === null ? "never" : <Time at={dates.last_used_at} />}
        </td>
        <td data-label="Expires">
          {dates.expires_at === null ? "never" : <Time at={dates.expires_at} />}
        </td>
        <td class="end">
          <a href={`${at}/tokens/${id}`}>Limits</a>
          <RevokeForm
            action={`${at}/tokens/${id}/revoke`}
            name={name}
            confirm={`Revoke ${name}? It stops working within 10 seconds.`}
          />
        </td>
      </tr>
    ))}
  </Table>
);
