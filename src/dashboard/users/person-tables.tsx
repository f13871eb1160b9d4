/** The lists of a user's page: predictions, access tokens, models. */
import type { ModelItem } from "../../protocol/model.ts";
import type { Token } from "../../protocol/operator.ts";
import type { PersonPrediction } from "../../services/accounts/person-view.ts";
import type { Page } from "../../services/pagination.ts";
import { TokenTable } from "../tokens/routes.tsx";
import { IdCell, Pager, Status, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { lookUpAddress } from "./look-up.tsx";

export const Predictions = ({
  username,
  predictions,
}: {
  username: string;
  /** Undefined: the account did not answer. */
  predictions: PersonPrediction[] | undefined;
}) => (
  <section aria-labelledby="predictions-title">
    <h2 id="predictions-title">Recent predictions</h2>
    {predictions === undefined ? (
      <p class="hint">Predictions could not be loaded in time. Reload to try again.</p>
    ) : predictions.length === 0 ? (
      <p class="hint">None.</p>
    ) : (
      <div class="scroll">
        <Table
          class="stacked linked"
          aria-labelledby="predictions-title"
          columns={["Model", "Status", "Created", "ID"]}
        >
          {predictions.map(({ prediction: { id, status, model, created_at }, waitsAgain }) => (
            <tr>
              <th scope="row">
                <a href={lookUpAddress(id, username)}>{`${model.owner}/${model.name}`}</a>{" "}
                <small>{`version ${model.version_number}`}</small>
              </th>
              <td data-label="Status">
                <Status status={status} waitsAgain={waitsAgain} />
              </td>
              <td data-label="Created">
                <Time at={created_at} />
              </td>
              <IdCell id={id} />
            </tr>
          ))}
        </Table>
      </div>
    )}
  </section>
);

export const Tokens = ({
  username,
  tokens,
  now,
}: {
  username: string;
  tokens: Page<Token>;
  now: number;
}) => (
  <section aria-labelledby="tokens-title">
    <h2 id="tokens-title">Access tokens</h2>
    {tokens.items.length === 0 ? (
      <p class="hint">None.</p>
    ) : (
      <TokenTable tokens={tokens.items} now={now} owner={username} />
    )}
    <Pager previous={tokens.previous_url} next={tokens.next_url} />
  </section>
);

export const Models = ({
  username,
  models,
  total,
}: {
  username: string;
  models: ModelItem[];
  total: number;
}) => (
  <section aria-labelledby="models-title">
    <h2 id="models-title">Models</h2>
    {models.length === 0 ? (
      <p class="hint">None.</p>
    ) : (
      <ul class="rows">
        {models.map(({ name, visibility, created_at }) => (
          <li>
            <span>
              {/* The page of a private model is its owner's alone. */}
              {visibility === "private" ? name : <a href={`/models/${username}/${name}`}>{name}</a>}{" "}
              <span class="badge">{visibility}</span>
            </span>
            <small>
              since <Time at={created_at} />
            </small>
          </li>
        ))}
      </ul>
    )}
    {total > models.length && (
      <p class="hint">{`Showing the newest ${models.length} of ${total}.`}</p>
    )}
  </section>
);
