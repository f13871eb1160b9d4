/** The tabs of the account pages. */
import { Tabs } from "../ui/parts.tsx";

const TABS = [
  ["/account", "Profile"],
  ["/account/security", "Security"],
  ["/account/usage", "Usage"],
  ["/account/images", "Images"],
  ["/account/webhooks", "Webhooks"],
  ["/account/shares", "Shared links"],
  ["/account/delete", "Delete"],
] as const;

export const AccountTabs = ({ current }: { current: (typeof TABS)[number][0] }) => (
  <Tabs label="Account" current={current} tabs={[...TABS]} />
);
