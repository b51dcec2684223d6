"""What allauth asks the product."""

from allauth.account.adapter import DefaultAccountAdapter


class AccountAdapter(DefaultAccountAdapter):
    """Sign-up is closed: operators make accounts (`create_user`, admin)."""

    def is_open_for_signup(self, request: object) -> bool:
        return False
