"""Pages of conversations."""

from django.urls import path

from chats.panel import usage, views

app_name = "chats"

urlpatterns = [
    path("c/", views.conversations, name="list"),
    path("c/latest", views.latest, name="latest"),
    path("c/<str:public_id>", views.conversation, name="conversation"),
    path("c/<str:public_id>/move", views.move, name="move"),
    path("c/<str:public_id>/rename", views.rename, name="rename"),
    path("c/<str:public_id>/delete", views.delete, name="delete"),
    path("usage/", usage.usage, name="usage"),
    path("usage/export", usage.export, name="usage-export"),
    path("c/<str:public_id>/turns/<str:turn_id>/stop", views.stop, name="stop"),
]
