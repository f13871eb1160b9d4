/** `/account/shares`: the share links of an account. */
import type { Page } from "../../services/pagination.ts";
import type { ShareRow } from "../../storage/shares/shares.ts";
import { Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import {
  Above,
  ALL_PREDICTIONS,
  Copy,
  Empty,
  linkToPrediction,
  Pager,
  Time,
} from "../ui/parts.tsx";
import { AccountTabs } from "../ui/tabs.tsx";

export const SharesPage = ({ page }: { page: Page<ShareRow> }) => (
  <>
    <h1>Shared links</h1>
    <AccountTabs current="/account/shares" />
    <p class="hint">
      Anyone with a link can view the input and output of its prediction until the link expires.
    </p>
    {page.items.length === 0 ? (
      <Empty title="No shared links">
        <p>Create one on the page of a finished prediction.</p>
        <p class="flow actions">
          <a class="button quiet" href="/predictions">
            View your predictions
          </a>
        </p>
      </Empty>
    ) : (
      <ul class="rows">
        {page.items.map((share) => (
          <Share share={share} from="/account/shares" />
        ))}
      </ul>
    )}
    <Pager previous={page.previous_url} next={page.next_url} />
  </>
);

export const SharesOfPrediction = ({ shares }: { shares: ShareRow[] }) =>
  shares.length === 0 ? null : (
    <ul class="rows">
      {shares.map((share) => (
        <Share share={share} from={`/predictions/${share.prediction_id}`} />
      ))}
    </ul>
  );

/** @param from the path of the page that has it, which is where revoking leads back to */
function Share({ share, from }: { share: ShareRow; from: string }) {
  const { id, prediction_id, model, created_at, expires_at } = share;
  const short = `…${prediction_id.slice(-12)}`;
  const address = `/predictions/${prediction_id}`;
  return (
    <li>
      <div>
        {from === address ? (
          "Shared link"
        ) : (
          <a href={address}>{model === "" ? `Prediction ${short}` : `${model} ${short}`}</a>
        )}
        <small>
          created <Time at={created_at} />, {expires_at > Date.now() ? "expires" : "expired"}{" "}
          <Time at={expires_at} />
        </small>
      </div>
      <Form
        action={`/account/shares/${id}/revoke`}
        data-confirm="Revoke this link? It stops working immediately."
      >
        <input type="hidden" name="from" value={from} />
        <button type="submit" class="quiet">
          Revoke<span class="visually-hidden">{` the link to ${short}`}</span>
        </button>
      </Form>
    </li>
  );
}

/** Days. */
export const LIFETIMES = [1, 7, 30];
const DEFAULT_DAYS = 7;

/** @param shares the links that the prediction has */
export const ShareForm = ({ id, shares }: { id: string; shares: ShareRow[] }) => (
  <>
    <h2>Share</h2>
    <p class="hint">
      Anyone with the link can view the input and output. Secrets, logs, and your name are hidden.{" "}
      <a href="/account/shares">Manage shared links</a>
    </p>
    <SharesOfPrediction shares={shares} />
    <Form action={`/predictions/${id}/share`} class="bar share-form">
      <label for="share-days">Expires in</label>
      <select id="share-days" name="days">
        {LIFETIMES.map((days) => (
          <option value={days} selected={days === DEFAULT_DAYS}>
            {days === 1 ? "1 day" : `${days} days`}
          </option>
        ))}
      </select>
      <Submit kind="quiet">Create link</Submit>
    </Form>
  </>
);

/** The new link, shown once: only its hash is stored. */
export const NewLinkPage = ({
  id,
  address,
  expires_at,
}: {
  id: string;
  address: string;
  expires_at: number;
}) => (
  <>
    <Above places={[ALL_PREDICTIONS, linkToPrediction(id)]} />
    <h1>Link created</h1>
    <section class="panel new-secret" aria-labelledby="new-link">
      <h2 id="new-link">Copy the link now. It will not be shown again</h2>
      <Copy text={address} label="Copy link" />
      <p class="hint">
        Expires <Time at={expires_at} />. <a href={address}>Preview</a> ·{" "}
        <a href="/account/shares">Manage shared links</a>
      </p>
    </section>
    <p>
      <a href={`/predictions/${id}`}>Back to the prediction</a>
    </p>
  </>
);
