/** The page of an audit log: its filter and its entries. */
import type { Json } from "../../lib/json.ts";
import {
  AUDIT_ACTIONS,
  type AuditAction,
  type AuditEvent,
  type AuditVerification,
} from "../../protocol/audit.ts";
import type { Page } from "../../services/pagination.ts";
import { Submit } from "../ui/fields.tsx";
import { Empty, Pager, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { AccountTabs } from "../ui/tabs.tsx";

/** The fields of the filter; empty where they do not limit the list. */
export type AuditValues = Record<"action" | "actor" | "target" | "from" | "to" | "account", string>;

interface Props {
  address: "/account/audit" | "/audit";
  values: AuditValues;
  page: Page<AuditEvent>;
  verification: AuditVerification | undefined;
  /** Failed logins by day, the latest first. Only operators see them. */
  failures: { day: string; count: number }[];
  /** The address of the export with this filter. */
  exported: string;
}

export const AuditPage = ({ address, values, page, verification, failures, exported }: Props) => (
  <>
    <h1>{address === "/audit" ? "Audit log of all accounts" : "Audit log"}</h1>
    {address === "/account/audit" && <AccountTabs current={address} />}
    <p class="hint">
      {address === "/audit"
        ? "Changes in all accounts and of the deployment, and what operators looked up."
        : "Changes in this account, and what operators of the deployment looked up in it."}
    </p>
    {verification && <Verified result={verification} />}
    <Filter address={address} values={values} />
    {page.items.length === 0 ? (
      <Empty title={page.next_url === null ? "No entries" : "No entries on this page"}>
        <p>
          {page.next_url === null
            ? "Nothing matches this filter."
            : "Older entries may match: go to the next page."}
        </p>
      </Empty>
    ) : (
      <Entries entries={page.items} isOfAll={address === "/audit"} />
    )}
    <Pager previous={page.previous_url} next={page.next_url} />
    {failures.length > 0 && <Failures failures={failures} />}
    <p class="bar">
      <a href={exported} download>
        Export as JSON Lines
      </a>
      <a href={`${address}?verify=1`}>Verify the log</a>
    </p>
  </>
);

const Verified = ({
  result: { valid, entries, problem, pending },
}: {
  result: AuditVerification;
}) => (
  <p class={valid ? "flash" : "flash warning"} role="status">
    {valid
      ? `Verified: none of the ${entries} entries was changed or removed.${pending > 0 ? ` ${pending} more are added within a minute.` : ""}`
      : `The log was tampered with. ${problem} Tell the operators of this deployment.`}
  </p>
);

const Failures = ({ failures }: Pick<Props, "failures">) => (
  <details>
    <summary>Failed logins of the last 30 days</summary>
    <Table
      class="stacked"
      aria-label="Failed logins"
      columns={["Day", { name: "Failed", is: "number" }]}
    >
      {failures.map(({ day, count }) => (
        <tr>
          <td data-label="Day">{day}</td>
          <td class="number" data-label="Failed">
            {count}
          </td>
        </tr>
      ))}
    </Table>
  </details>
);

/** The actions by what they are about. */
const KINDS = Map.groupBy(Object.keys(AUDIT_ACTIONS), (action) => action.split(".")[0] ?? "");

const Filter = ({ address, values }: Pick<Props, "address" | "values">) => (
  <search>
    <form method="get" action={address} class="bar filter-bar">
      <select name="action" aria-label="Action">
        <option value="">All actions</option>
        {[...KINDS].map(([kind, actions]) => (
          <optgroup label={kind.replaceAll("_", " ")}>
            {actions.length > 1 && (
              <option value={`${kind}.*`} selected={values.action === `${kind}.*`}>
                {kind}.*
              </option>
            )}
            {actions.map((action) => (
              <option value={action} selected={values.action === action}>
                {action}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      {address === "/audit" && (
        <input
          name="account"
          value={values.account}
          aria-label="Account"
          placeholder="Account"
          maxlength={63}
        />
      )}
      <input name="actor" value={values.actor} aria-label="Who" placeholder="Who" maxlength={100} />
      <input
        name="target"
        value={values.target}
        aria-label="What"
        placeholder="What, such as ada/story"
        maxlength={200}
      />
      <label>
        From <input name="from" type="date" value={values.from} />
      </label>
      <label>
        Until <input name="to" type="date" value={values.to} />
      </label>
      <Submit kind="quiet">Filter</Submit>
    </form>
  </search>
);

const Entries = ({ entries, isOfAll }: { entries: AuditEvent[]; isOfAll: boolean }) => (
  <div class="scroll">
    <Table class="stacked audit" aria-label="Entries" columns={["Time", "Who", "What", "Details"]}>
      {entries.map((entry) => (
        <tr>
          <td data-label="Time">
            <Time at={entry.occurred_at} exact />
          </td>
          <td data-label="Who">
            <Actor actor={entry.actor} />
          </td>
          <td data-label="What">
            {meaningOf(entry.action)}
            {entry.targets.map(({ name }) => (
              <small>
                <bdi>{name}</bdi>
              </small>
            ))}
          </td>
          <td>
            <Details entry={entry} isOfAll={isOfAll} />
          </td>
        </tr>
      ))}
    </Table>
  </div>
);

const isAction = (action: string): action is AuditAction => Object.hasOwn(AUDIT_ACTIONS, action);

const meaningOf = (action: string): string => (isAction(action) ? AUDIT_ACTIONS[action] : action);

const Actor = ({ actor: { type, name } }: Pick<AuditEvent, "actor">) => (
  <>
    <bdi>{name}</bdi>{" "}
    {type !== "user" && type !== "system" && <span class="badge">{type.replaceAll("_", " ")}</span>}
  </>
);

/** The changed fields, and the facts that tell where the change came from. */
function Details({ entry, isOfAll }: { entry: AuditEvent; isOfAll: boolean }) {
  const { changes, context } = entry;
  const facts: [string, string | null | undefined][] = [
    ["Action", entry.action],
    ["Account", isOfAll ? (entry.account_id ?? "The deployment") : undefined],
    ["Address", context.ip],
    ["Client", context.user_agent],
    ["Token", context.token_id],
    ["Session", context.session_id],
    ["Request", context.request_id],
    ["Entry", entry.id],
    ["Hash", entry.hash],
  ];
  return (
    <details>
      <summary>{changes ? Object.keys(changes.after).join(", ") : "Details"}</summary>
      <dl class="facts">
        {Object.keys(changes?.after ?? {}).map((name) => (
          <>
            <dt>{name}</dt>
            <dd>
              <code>{valueText(changes?.before[name])}</code>
              {" → "}
              <code>{valueText(changes?.after[name])}</code>
            </dd>
          </>
        ))}
        {facts.map(
          ([name, value]) =>
            value != null && (
              <>
                <dt>{name}</dt>
                <dd>
                  <bdi>{value}</bdi>
                </dd>
              </>
            ),
        )}
      </dl>
    </details>
  );
}

const valueText = (value: Json | undefined): string =>
  value == null ? "–" : typeof value === "string" ? value : JSON.stringify(value);
