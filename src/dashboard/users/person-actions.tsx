/** What operators can do about a user, and what each of it does. */
import type { PersonView } from "../../services/accounts/person-view.ts";
import { Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";

export const PersonActions = ({
  view: { person, canSignIn, formerUsernames },
  isOneself,
}: {
  view: PersonView;
  isOneself: boolean;
}) => {
  const { username, operator, suspended_at } = person;
  const at = `/users/${username}`;
  return (
    <section aria-labelledby="actions-title">
      <h2 id="actions-title">Actions</h2>
      <ul class="rows deeds">
        <li>
          <div>
            <strong>{canSignIn ? "Recovery link" : "Sign-in link"}</strong>
            <small>
              {canSignIn
                ? "For a user who lost their password. Whoever opens it sets a new one, which ends all sessions and removes all passkeys. The user is told that an operator created it."
                : "For a user who was created through the API. Whoever opens it chooses an email address and a password for this account."}
            </small>
          </div>
          <Form action={`${at}/recovery`}>
            <Submit kind="quiet">Create link</Submit>
          </Form>
        </li>
        {operator && (
          <li>
            <div>
              <strong>Demote</strong>
              <small>
                No longer an operator at once. Whoever knows OPERATOR_TOKEN can become one again.
              </small>
            </div>
            <Form
              action={`${at}/demote`}
              data-confirm={`Demote ${username}? They can become an operator again with OPERATOR_TOKEN.`}
            >
              <Submit kind="quiet">Demote</Submit>
            </Form>
          </li>
        )}
        {formerUsernames.map((former) => (
          <li>
            <div>
              <strong>Release {former}</strong>
              <small>
                A former username, which nobody else can take until it is released. Then anybody
                can, and links to {former} lead to them.
              </small>
            </div>
            <Form
              action={`${at}/usernames/${former}/release`}
              data-confirm={`Release ${former}? Anybody can take it then.`}
            >
              <Submit kind="quiet">Release</Submit>
            </Form>
          </li>
        ))}
        <li>
          {suspended_at === null ? (
            <Suspend username={username} isOneself={isOneself} />
          ) : (
            <>
              <div>
                <strong>Restore account</strong>
                <small>
                  Its access tokens work again and its user can sign in. Canceled predictions stay
                  canceled, and an operator stays demoted.
                </small>
              </div>
              <Form action={`${at}/restore`}>
                <Submit kind="quiet">Restore account</Submit>
              </Form>
            </>
          )}
        </li>
      </ul>
    </section>
  );
};

const Suspend = ({ username, isOneself }: { username: string; isOneself: boolean }) => (
  <>
    <div>
      <strong>Suspend account</strong>
      <small>
        Within 10 seconds its tokens stop working, its sessions and streams end, and its predictions
        are canceled. It is no longer an operator. Models and files are kept, and others can run its
        public models unless you make them private. It can be restored.
      </small>
    </div>
    {isOneself ? (
      <small>You cannot suspend your own account.</small>
    ) : (
      <Form
        action={`/users/${username}/suspend`}
        data-confirm={`Suspend ${username}? Their tokens stop working and their predictions are canceled.`}
      >
        <label class="choice">
          <input type="checkbox" name="models" value="hide" />
          <span>Make its models private</span>
        </label>
        <Submit kind="danger">Suspend account</Submit>
      </Form>
    )}
  </>
);
