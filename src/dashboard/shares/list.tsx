/** `/account/shares`: the share links of an account. */
import type { Page } from "../../services/pagination.ts";
import type { ShareRow } from "../../storage/shares/shares.ts";
import { AccountTabs } from "../account/tabs.tsx";
import { Form } from "../ui/layout.tsx";
import { Empty, Pager, Time } from "../ui/parts.tsx";

export const SharesPage = ({ page }: { page: Page<ShareRow> }) => (
  <>
    <h1>Shared links</h1>
    <AccountTabs current="/account/shares" />
    <p class="hint">
      Whoever has a link sees the input and output of one prediction, until the link ends or its
      data is removed.
    </p>
    {page.items.length === 0 ? (
      <Empty title="No shared links">
        <p>Create one on the page of a prediction that has ended.</p>
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

/** Share links of one prediction, on its page. */
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
          "Shared by a link"
        ) : (
          <a href={address}>{model === "" ? `Prediction ${short}` : `${model} ${short}`}</a>
        )}
        <small>
          created <Time at={created_at} />, {expires_at > Date.now() ? "ends" : "ended"}{" "}
          <Time at={expires_at} />
        </small>
      </div>
      <Form
        action={`/account/shares/${id}/revoke`}
        data-confirm="Revoke this link? Whoever has it sees nothing any more, and it cannot be shown again."
      >
        <input type="hidden" name="from" value={from} />
        <button type="submit" class="quiet">
          Revoke<span class="visually-hidden">{` the link to ${short}`}</span>
        </button>
      </Form>
    </li>
  );
}
