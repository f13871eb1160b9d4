/** A user, as operators see them: what they have, and what operators can do. */
import type { PersonView } from "../../services/accounts/person-view.ts";
import { Storage } from "../account/storage.tsx";
import { Totals } from "../account/totals.tsx";
import { Above, Time } from "../ui/parts.tsx";
import { Fact } from "./fact.tsx";
import { NewLink } from "./invitations.tsx";
import { Standing } from "./page.tsx";
import { PersonActions } from "./person-actions.tsx";
import { Models, Predictions, Tokens } from "./person-tables.tsx";

export const PersonPage = ({
  view,
  isOneself,
  link,
  now,
}: {
  view: PersonView;
  isOneself: boolean;
  /** A recovery link, shown only once. */
  link: string | undefined;
  now: number;
}) => {
  const { person, tokens, models, predictions } = view;
  return (
    <>
      <Above places={[["/users", "Users"]]} />
      <div class="title-row">
        <h1>{person.username}</h1>
        <p>
          <Standing person={person} />
        </p>
      </div>
      {link !== undefined && <NewLink link={link} title="Share this link with its user only" />}
      <Facts view={view} />
      <p class="hint">
        Operators see that this user runs models, when, and whether that failed. They see neither
        inputs nor outputs, logs, files, variables, nor any token: only its first characters.
      </p>
      <Usage usage={view.usage} />
      <Storage storage={view.storage} />
      <Predictions username={person.username} predictions={predictions} />
      <Tokens username={person.username} tokens={tokens} now={now} />
      <Models username={person.username} models={models} total={person.models} />
      <PersonActions view={view} isOneself={isOneself} />
    </>
  );
};

const Facts = ({ view: { person, canSignIn } }: { view: PersonView }) => (
  <dl class="facts">
    {person.name !== "" && (
      <Fact name="Name">
        <bdi>{person.name}</bdi>
      </Fact>
    )}
    <Fact name="Joined">
      <Time at={person.created_at} />
    </Fact>
    <Fact name="Last seen">
      <Time at={person.seen_at} />
    </Fact>
    <Fact name="Sign-in">
      {person.suspended_at !== null
        ? "Refused while suspended"
        : canSignIn
          ? "Possible"
          : "API only: no way to sign in yet"}
    </Fact>
  </dl>
);

const Usage = ({ usage }: Pick<PersonView, "usage">) => (
  <section aria-labelledby="usage-title">
    <h2 id="usage-title">Last 30 days</h2>
    {usage === undefined ? (
      <p class="hint">The account did not answer in time. Reload the page to ask again.</p>
    ) : (
      <Totals {...usage} />
    )}
  </section>
);
