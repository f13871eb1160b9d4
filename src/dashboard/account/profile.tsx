/** The public profile and its forms. */
import { hasRole } from "../../domain/accounts/access.ts";
import type { UserRow } from "../../storage/accounts/users.ts";
import { isPersonal, type Viewer } from "../context.ts";
import type { Draft } from "../form.ts";
import { Field, Submit, TextArea, TextField, useControl } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { AccountTabs } from "../ui/tabs.tsx";

export interface Drafts {
  profile: Draft;
  avatar: Draft;
}

export const ProfilePage = ({ viewer, drafts }: { viewer: Viewer; drafts: Drafts }) => (
  <>
    <h1>Profile</h1>
    <AccountTabs current="/account" />
    <p>
      {isPersonal(viewer) ? "Your profile" : `The profile of ${viewer.account.username}`} is public.{" "}
      <a href={`/v1/users/${viewer.account.username}`}>View it in the API</a>
    </p>
    <Picture user={viewer.account} draft={drafts.avatar} />
    <Profile viewer={viewer} draft={drafts.profile} />
    {!isPersonal(viewer) && <SecondFactor organization={viewer.account} />}
  </>
);

const SecondFactor = ({ organization }: { organization: UserRow }) => {
  const { username, requires_second_factor: isRequired } = organization;
  return (
    <section aria-labelledby="factor-title">
      <h2 id="factor-title">Second factor</h2>
      <p>
        {isRequired
          ? `Members of ${username} need a second factor.`
          : `Members of ${username} can log in with a password alone.`}
      </p>
      <Form
        action={`/organizations/${username}/second-factor`}
        {...(!isRequired && {
          "data-confirm": `Require a second factor? Members without one lose access to ${username} until they add one.`,
        })}
      >
        <input type="hidden" name="required" value={isRequired ? "no" : "yes"} />
        <p class="hint">
          A passkey, OpenID Connect or an authenticator app. Access tokens of members without one
          stop working; service tokens are not affected.
        </p>
        <Submit kind="quiet">{isRequired ? "Stop requiring it" : "Require it"}</Submit>
      </Form>
    </section>
  );
};

const Picture = ({ user, draft }: { user: UserRow; draft: Draft }) => (
  <section aria-labelledby="picture-title">
    <h2 id="picture-title">Picture</h2>
    <div class="bar">
      <div class="portrait">
        {user.avatar_url ? (
          <img src={new URL(user.avatar_url).pathname} alt={user.username} data-portrait />
        ) : (
          <>
            <span aria-hidden="true">{user.username.slice(0, 1)}</span>
            <img alt="Preview" data-portrait hidden />
          </>
        )}
      </div>
      <div>
        <Form action="/account/avatar" enctype="multipart/form-data" draft={draft}>
          <Field
            name="avatar"
            label="New picture"
            hint="PNG, JPEG, WebP, GIF or AVIF, up to 1 MB. Shown as a circle."
            required
          >
            <PictureFile />
          </Field>
          <Submit kind="quiet">Upload picture</Submit>
        </Form>
        {user.avatar_url && (
          <Form action="/account/avatar/remove">
            <Submit kind="plain">Remove picture</Submit>
          </Form>
        )}
      </div>
    </div>
  </section>
);

const PictureFile = () => (
  <input
    {...useControl("avatar", true)}
    type="file"
    accept="image/png,image/jpeg,image/webp,image/gif,image/avif"
    required
  />
);

const Profile = ({ viewer, draft }: { viewer: Viewer; draft: Draft }) => (
  <section aria-labelledby="about-title">
    <h2 id="about-title">
      {isPersonal(viewer) ? "About you" : `About ${viewer.account.username}`}
    </h2>
    <Form action="/account" class="measure" draft={draft}>
      {hasRole(viewer.caller, "owner") && (
        <TextField
          name="username"
          label="Username"
          hint="Changing it changes the models’ URLs immediately. Code that uses the old URLs stops working. Up to five old usernames stay reserved."
          value={viewer.account.username}
          autocomplete={isPersonal(viewer) ? "username" : "off"}
          maxlength={63}
          required
        />
      )}
      <ProfileFields user={viewer.account} />
    </Form>
  </section>
);

const ProfileFields = ({ user }: { user: UserRow }) => (
  <>
    <TextField name="name" label="Name" value={user.name} autocomplete="name" maxlength={100} />
    <TextArea name="bio" label="Bio" value={user.bio} maxlength={1_000} />
    <TextArea
      name="urls"
      label="Websites"
      hint="One URL per line, up to 20."
      value={user.urls.join("\n")}
      rows={3}
      placeholder="https://example.com/"
    />
    <div class="bar row">
      <TextField name="location" label="Location" value={user.location} maxlength={100} />
      <TextField
        name="company"
        label="Company"
        value={user.company}
        autocomplete="organization"
        maxlength={100}
      />
    </div>
    <p class="flow actions">
      <Submit>Save</Submit>
    </p>
  </>
);

/** @param leaving whether the account is about to be deleted, and its files with it */
export const ExportText = ({ leaving = false }: { leaving?: boolean }) => (
  <>
    <p>
      Download one file with your profile, access tokens (without secrets), models and versions,
      webhook endpoints, uploads, usage, and about 2,000 of your latest predictions.{" "}
      <a href="/docs/calling#export-your-account">What is included</a>
    </p>
    <ul>
      <li>
        JSON Lines, one record per line. A complete export ends with <code>{'"type":"end"'}</code>,
        which links to the next file if there are more predictions.
      </li>
      <li>
        Files are included as URLs that expire after a day
        {leaving && ". They stop working with your account, so download them first"}.
      </li>
      <li>Container images are not included. Pull them with Docker.</li>
    </ul>
    <p class="flow actions">
      <a class="button quiet" href="/account/export">
        Download your data
      </a>
    </p>
  </>
);
