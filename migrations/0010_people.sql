ALTER TABLE `invitations` ADD `made_by` text;--> statement-breakpoint
CREATE INDEX `invitations_user` ON `invitations` (`user_id`);--> statement-breakpoint
ALTER TABLE `users` ADD `operator_proof` text;--> statement-breakpoint
ALTER TABLE `users` ADD `suspended_at` integer;--> statement-breakpoint
ALTER TABLE `users` ADD `recovered_at` integer;--> statement-breakpoint
CREATE INDEX `users_operators` ON `users` (`operator_proof`,`id`) WHERE operator_proof IS NOT NULL;--> statement-breakpoint
CREATE INDEX `users_suspended` ON `users` (`suspended_at`,`id`) WHERE suspended_at IS NOT NULL;--> statement-breakpoint
ALTER TABLE `users` DROP COLUMN `operator`;