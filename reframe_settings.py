"""The one file that ReFrame is given: its site configuration, made from systems/*.yaml."""

from railyard.siteconfig import build

site_configuration = build(__file__)
