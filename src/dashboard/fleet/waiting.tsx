/** Accounts whose predictions wait for a class, and why. */
import type { ReasonCode } from "../../protocol/explanation.ts";
import type { QueueState } from "../../protocol/fleet.ts";
import { Table } from "../ui/table.tsx";
import { waitText } from "./status-text.ts";

const WORDS: Partial<Record<ReasonCode, string>> = {
  busy: "its turn",
  no_runner: "a runner that takes work",
  too_small: "a larger runner",
  account_share: "its share: it has as much as it may while others wait",
  held: "a container of its model that starts or is busy",
  reserved: "a runner that is kept for it",
  declined: "a runner that does not decline it",
};

export const WaitingAccounts = ({ queue: { hardware, accounts } }: { queue: QueueState }) =>
  accounts.length === 0 ? null : (
    <Table
      class="waiting stacked"
      columns={[
        "Account",
        { name: "Waiting", is: "number" },
        { name: "Longest", is: "number" },
        "Waits for",
      ]}
      caption={<caption class="visually-hidden">Accounts that wait for {hardware}</caption>}
    >
      {accounts.map(({ username, waiting, oldest_wait_ms, code }) => (
        <tr>
          <th scope="row">
            {username === null ? "deleted account" : <a href={`/users/${username}`}>{username}</a>}
          </th>
          <td class="number" data-label="Waiting">
            {waiting}
          </td>
          <td class="number" data-label="Longest">
            {waitText(oldest_wait_ms)}
          </td>
          <td data-label="Waits for">{WORDS[code] ?? "its turn"}</td>
        </tr>
      ))}
    </Table>
  );
